import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonValue } from '../../../src/base/json.ts';
import type { ObjectRef } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { goesWithOwners } from '../../../src/sync/flows/cascade.ts';
import { aModel, kindNamed } from '../../support/objects.ts';

const [run, model] = [kindNamed('PipelineRun'), kindNamed('Model')];
const pipeline = { apiVersion: 'michelangelo.api/v2', kind: 'Pipeline', name: 'p', uid: 'p1' };

/** Owners that the API server has, by plural and name. */
function client(owners: Readonly<Record<string, { readonly uid: string; readonly deletionTimestamp?: string }>>) {
  return {
    get: ({ resource, namespace, name }: ObjectRef) => {
      const metadata = owners[`${resource.plural}/${name}`];
      if (metadata === undefined) return Promise.reject(new KubeError('NotFound', 'gone'));
      assert.equal(namespace, 'a-namespace');
      return Promise.resolve(aModel({ name, ...metadata }));
    },
  };
}

const owned = (...ownerReferences: JsonValue[]) => aModel({ ownerReferences });
const alive = client({ 'pipelines/p': { uid: 'p1' } });
const gone = client({});

describe('a run that is being deleted', () => {
  it('goes with its owner where that is gone, is another one by now, or is being deleted itself', async () => {
    const going = client({ 'pipelines/p': { uid: 'p1', deletionTimestamp: '2026-01-01T00:00:00Z' } });
    const another = client({ 'pipelines/p': { uid: 'p2' } });
    for (const each of [gone, going, another]) assert.equal(await goesWithOwners(each, run, owned(pipeline)), true);
    assert.equal(await goesWithOwners(alive, run, owned(pipeline)), false);
  });

  it('does not go with owners while one of them lives', async () => {
    const revision = { ...pipeline, kind: 'Revision', name: 'r', uid: 'r1' };
    assert.equal(await goesWithOwners(alive, run, owned(revision, pipeline)), false);
    assert.equal(await goesWithOwners(gone, run, owned(revision, pipeline)), true);
  });

  it('is deleted by itself without an owner of the kinds, whatever else it belongs to', async () => {
    const others = [{ ...pipeline, apiVersion: 'apps/v1' }, { ...pipeline, kind: 'Workflow' }, null, 'x', {}];
    for (const other of others) assert.equal(await goesWithOwners(gone, run, owned(other)), false);
    assert.equal(await goesWithOwners(gone, run, aModel()), false);
  });

  it('is nothing that other kinds are', async () => {
    assert.equal(await goesWithOwners(gone, model, owned(pipeline)), false);
  });

  it('goes with an owner of a name that none can have, which the API server is not asked for', async () => {
    const unasked = { get: () => assert.fail('was asked') };
    for (const name of ['50%', '..', '.', 'p/status', 'a b', 'P', ''])
      assert.equal(await goesWithOwners(unasked, run, owned({ ...pipeline, name })), true, name);
  });

  it('is deleted by itself where it has more owners than are asked for', async () => {
    const asked: string[] = [];
    const counts = {
      get: ({ name }: ObjectRef) => (asked.push(name), Promise.reject(new KubeError('NotFound', 'gone'))),
    };
    const many = Array.from({ length: 5000 }, (_, index) => ({ ...pipeline, name: `p${index}` }));
    assert.equal(await goesWithOwners(counts, run, owned(...many)), false);
    assert.equal(await goesWithOwners(counts, run, owned(...many.slice(0, 10))), true);
    assert.equal(asked.length, 10);
  });

  it('is deleted by itself where the right to look for its owner is missing', async () => {
    const forbidden = { get: () => Promise.reject(new KubeError('Forbidden', 'no')) };
    assert.equal(await goesWithOwners(forbidden, run, owned(pipeline)), false);
  });

  it('fails with the API server, which may have the owner', async () => {
    const down = { get: () => Promise.reject(new KubeError('Unavailable', 'down')) };
    await assert.rejects(goesWithOwners(down, run, owned(pipeline)), /down/);
  });
});
