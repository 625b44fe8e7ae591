// The two status disciplines and the groups of fields, on the real API server.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { isKubeError } from '../../src/kube/errors.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { type ApplyTarget, applyFields, applyStatus } from '../../src/runtime/field-group.ts';
import { StatusLog } from '../../src/runtime/status-log.ts';

const resource = { group: 'apps', version: 'v1', plural: 'deployments' };
const spec = {
  replicas: 1,
  selector: { matchLabels: { app: 'a' } },
  template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
};

describe('status and groups of fields on the real API server', () => {
  let controlPlane: ControlPlane;
  let client: HttpKubeClient;
  before(async () => {
    controlPlane = await startControlPlane({ progress: () => undefined, minimal: true });
    const transport = new PooledTransport({ kubeconfig: controlPlane.kubeconfig, context: '', clock: systemClock });
    client = new HttpKubeClient(transport);
  });
  after(async () => {
    await client.close();
    await controlPlane.stop();
  });

  const target = (name: string): ApplyTarget => ({
    resource,
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace: 'default',
    name,
  });
  const labels = { manager: 'test-labels', fields: ['metadata.labels'] };
  const work = { manager: 'test-work', fields: ['spec'] };

  it('groups of fields with managers of their own do not remove each other; a group removes what it leaves out', async () => {
    await applyFields(client, target('groups'), work, { spec });
    await applyFields(client, target('groups'), labels, { metadata: { labels: { one: '1', two: '2' } } });
    const both = await applyFields(client, target('groups'), labels, { metadata: { labels: { one: '1' } } });
    assert.deepEqual(both.metadata.labels, { one: '1' });
    assert.equal((both['spec'] as { replicas: number }).replicas, 1);
  });

  it('a blind status that changes nothing is no write', async () => {
    await applyFields(client, target('blind'), work, { spec });
    const status = { replicas: 3, observedGeneration: 1 };
    const first = await applyStatus(client, target('blind'), 'test-status', status);
    const second = await applyStatus(client, target('blind'), 'test-status', status);
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    assert.deepEqual(second['status'], status);
  });

  it('a status log refuses to write over what it has not read, and keeps everything else', async () => {
    const created = await applyFields(
      client,
      target('log'),
      { ...work, fields: ['spec', 'metadata.labels'] },
      {
        spec,
        metadata: { labels: { keep: 'me' } },
      },
    );
    const log = new StatusLog({ client, fieldManager: 'test-log' });
    const ref = { resource, namespace: 'default', name: 'log' };
    const written = await log.write(ref, created, { replicas: 2 });
    assert.deepEqual((written['status'] as { replicas: number }).replicas, 2);
    assert.deepEqual(written.metadata.labels, { keep: 'me' });
    assert.deepEqual(log.latest(created), written);
    const conflict = (error: unknown): boolean => isKubeError(error, 'Conflict');
    await assert.rejects(log.write(ref, created, { replicas: 5 }), conflict);
    const current: KubernetesObject = await client.get(ref);
    assert.deepEqual(current['status'], written['status']);
    assert.equal(log.latest(current), current);
  });
});
