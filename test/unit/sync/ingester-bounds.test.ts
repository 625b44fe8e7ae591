import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { ObjectRef } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { MigrationRecord } from '../../../src/lifecycle/reconcile/migration-record.ts';
import { ConfigMapBounds } from '../../../src/sync/admission/lookups.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const NS = 'ingester-system';
const { signal } = new AbortController();

/** ConfigMaps by name; an error is what every call gives. */
function setUp(maps: Record<string, Readonly<Record<string, string>>>, failure?: KubeError) {
  const client = {
    get: ({ name, namespace }: ObjectRef): Promise<KubernetesObject> => {
      assert.equal(namespace, NS);
      const data = maps[name];
      if (failure !== undefined || data === undefined)
        return Promise.reject(failure ?? new KubeError('NotFound', name));
      return Promise.resolve({ data } as unknown as KubernetesObject);
    },
    mergePatch: ({ name }: ObjectRef, patch: object): Promise<KubernetesObject> => {
      maps[name] = { ...maps[name], ...(patch as { readonly data: Readonly<Record<string, string>> }).data };
      return Promise.resolve({} as KubernetesObject);
    },
  };
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const bounds = new ConfigMapBounds({ client: () => Promise.resolve(client), namespace: NS, clock, logger });
  const permitted = async (namespace = NS) => {
    const answer = await bounds.permitted(namespace, signal);
    return typeof answer === 'string' ? answer : { images: answer.images, secrets: answer.secrets };
  };
  return { permitted, client, logger };
}

describe('the bounds of an Ingester in the webhook', () => {
  it('are the safe default without a ConfigMap, and bound no image before the controller has recorded its own repository', async () => {
    const { permitted, client } = setUp({});
    assert.deepEqual(await permitted(), { images: ['*'], secrets: ['ingester-*'] });
    const record = new MigrationRecord({ client, logger: new RecordingLogger() });
    await record.writeRepository(NS, undefined);
    assert.deepEqual(await permitted(), { images: ['*'], secrets: ['ingester-*'] });
    await record.writeRepository(NS, 'registry/ingester');
    assert.deepEqual(await permitted(), { images: ['registry/ingester'], secrets: ['ingester-*'] });
  });

  it('are read from the ConfigMap, key by key', async () => {
    const { permitted } = setUp({
      'ingester-permitted': { secrets: 'a b*\n c' },
      'ingester-admission-record': { repository: 'r' },
    });
    assert.deepEqual(await permitted(), { images: ['r'], secrets: ['a', 'b*', 'c'] });
    const closed = setUp({ 'ingester-permitted': { images: '', secrets: '' } });
    assert.deepEqual(await closed.permitted(), { images: [], secrets: [] });
  });

  it('are unknown where the API server does not answer, and permit anything where no controller acts', async () => {
    const { permitted, logger } = setUp({}, new KubeError('Forbidden', 'no'));
    assert.equal(await permitted(), 'unknown');
    assert.equal(logger.messages().length, 1);
    assert.equal(await permitted('elsewhere'), 'anything');
  });
});
