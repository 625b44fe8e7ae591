import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FINALIZER, IMMUTABLE_ANNOTATION } from '../../../src/api/names.ts';
import type { MetadataStorage } from '../../../src/storage/metadata-storage.ts';
import { modelStage } from '../../support/crash-matrix/model-stage.ts';
import { reconcilerProcess } from '../../support/crash-matrix/processes.ts';

/** A server whose parser is wrong in the last places of a double. */
function readingWrong(storage: MetadataStorage): MetadataStorage {
  return new Proxy(storage, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as MetadataStorage['getById'];
      if (property !== 'getById') return method;
      const getById: MetadataStorage['getById'] = async (...args) => {
        const stored = await method(...args);
        return stored && { ...stored, json: stored.json.replace('"ratio":0.1}', '"ratio":0.10000000000000003}') };
      };
      return getById;
    },
  });
}

it('an object whose fraction the server reads wrong in the last places is evicted, and nothing is tried for ever', async () => {
  const stage = modelStage();
  const { resource, namespace, name } = stage.ref;
  const annotations = { [IMMUTABLE_ANNOTATION]: 'true' };
  const created = await stage.client.create(resource, namespace, {
    ...{ apiVersion: 'michelangelo.api/v2', kind: stage.kind.kind, spec: { entrypoint: 'e', ratio: 0.1 } },
    metadata: { namespace, name, finalizers: [FINALIZER], annotations },
  });
  const ports = { client: stage.client, storage: readingWrong(stage.storage) };
  const read = () => stage.client.get(stage.ref).catch(() => undefined);
  for (let attempt = 0; attempt < 5; attempt += 1) await reconcilerProcess(stage, ports, read).work();
  const stored = await ports.storage.getById(stage.kind, created.metadata.uid);
  assert.match(stored?.json ?? '', /0\.10000000000000003/);
  assert.deepEqual([await read(), stored?.state], [undefined, 'evicted']);
});
