// A flood: objects that arrive faster than any client could create them, written to etcd as the API server would.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { etcdGateway } from '../etcd-gateway.ts';
import { scenario } from './watched.ts';
import { NS, type World } from './world.ts';

/** Economical; RUNTIME_FAULTS_OBJECTS=100000 for a large cluster. The benchmark `runtime` lists as many. */
const OBJECTS = Number(process.env['RUNTIME_FAULTS_OBJECTS'] ?? 5000);

export function manyObjects(world: () => World): void {
  scenario(`${OBJECTS} objects that arrive while it reconciles`, world, {}, async (watched, one) => {
    const objects = Array.from({ length: OBJECTS }, (_, index) => configMap(`many-${index}`));
    await Promise.all([etcdGateway(one.controlPlane).put(objects), one.write()]);
    await watched.settles();
    assert.ok(watched.store.size >= OBJECTS);
  });
}

function configMap(name: string): { readonly key: string; readonly value: object } {
  const metadata = { name, namespace: NS, uid: randomUUID(), creationTimestamp: '2026-01-01T00:00:00Z' };
  return {
    key: `/configmaps/${NS}/${name}`,
    value: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } },
  };
}
