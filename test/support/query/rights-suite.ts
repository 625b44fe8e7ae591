// What a user sees of stored objects, by the rights on the live kind.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Cluster } from '../cluster.ts';
import { MODELS } from './stored-models.ts';

/** Leaves the cluster role model-reader, which may get and list models. */
export function rightsSuite(cluster: () => Cluster): void {
  describe('to its users', () => {
    const as = (user: string, group = 'system:authenticated') => [`--as=${user}`, `--as-group=${group}`];
    before(async () => {
      await cluster().kubectl(
        'create',
        'clusterrole',
        'model-reader',
        '--verb=get,list',
        '--resource=models.michelangelo.api',
      );
      await cluster().kubectl(
        'create',
        'clusterrolebinding',
        'all-models',
        '--clusterrole=model-reader',
        '--user=alice',
      );
      await cluster().kubectl(
        'create',
        'rolebinding',
        'ml-models',
        '-n',
        'ml',
        '--clusterrole=model-reader',
        '--user=bob',
      );
      await cluster().kubectl(
        'create',
        'clusterrolebinding',
        'stored-only',
        '--clusterrole=ingester-stored-objects',
        '--user=eve',
      );
    });

    const namespaces = async (user: string) => {
      const output = await cluster().kubectl(
        'get',
        MODELS,
        '-A',
        '-o',
        'jsonpath={.items[*].metadata.namespace}',
        ...as(user),
      );
      return [...new Set(output.split(' '))].toSorted();
    };

    it('gives a user who may list all models all of them', async () => {
      assert.ok((await namespaces('alice')).includes('ingester-test'));
    });

    it('gives a user who may list one namespace that one', async () => {
      assert.deepEqual(await namespaces('bob'), ['ml']);
      const { stderr } = await cluster().tryKubectl('get', MODELS, '-n', 'ingester-test', ...as('bob'));
      assert.match(
        stderr,
        /User "bob" cannot list resource "models" in API group "michelangelo.api" in the namespace "ingester-test"/,
      );
    });

    it('gives nothing to a user whose rights are on the stored group only', async () => {
      const { code, stderr } = await cluster().tryKubectl('get', MODELS, '-n', 'ml', 'kept', ...as('eve'));
      assert.notEqual(code, 0);
      assert.match(stderr, /User "eve" cannot get resource "models"/);
    });

    it('keeps other kinds from a user who may read models', async () => {
      const { stderr } = await cluster().tryKubectl(
        'get',
        'pipelines.stored.michelangelo.api',
        '-n',
        'ml',
        ...as('bob'),
      );
      assert.match(stderr, /cannot list resource "pipelines"/);
    });

    it('gives nothing to a user who is not authenticated', async () => {
      const { code } = await cluster().tryKubectl(
        'get',
        MODELS,
        '-n',
        'ml',
        ...as('system:anonymous', 'system:unauthenticated'),
      );
      assert.notEqual(code, 0);
    });
  });
}
