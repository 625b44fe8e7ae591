import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { objectKey } from '../../../src/api/object.ts';
import { ByteBudget } from '../../../src/base/byte-budget.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { done } from '../../../src/runtime/reconcile.ts';
import { HeldObjects } from '../../../src/sync/flows/held-objects.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { aModel } from '../../support/objects.ts';

const object = aModel({ resourceVersion: '5' });
const watched = asWatched(object);
const KEY = objectKey(object);

function setUp({ roomBytes = 1024 * 1024, waits = false } = {}) {
  const client = new FakeKubeClient();
  const store = new IdentityStore(new ByteBudget(roomBytes));
  store.set(watched);
  const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
  return { client, store, objects: new HeldObjects({ client, resource, store, waits: () => waits }) };
}

describe('the object of a reconcile', () => {
  it('is let go once it is dealt with, and read from the API server when it is needed again', async () => {
    const { client, store, objects } = setUp();
    assert.equal(await objects.get(KEY), watched);
    await objects.letGoAfter(KEY, () => Promise.resolve(done));
    assert.equal(store.heldCount, 0);
    client.put(object);
    assert.equal((await objects.get(KEY))?.identity.uid, object.metadata.uid);
  });

  it('stays where it is to be looked at again, and where a newer state arrives meanwhile', async () => {
    const { store, objects } = setUp();
    await objects.letGoAfter(KEY, () => Promise.resolve({ kind: 'requeue-after', delayMs: 1 }));
    assert.equal(store.heldCount, 1);
    await objects.letGoAfter(KEY, () => {
      store.set(asWatched(aModel({ resourceVersion: '6' })));
      return Promise.resolve(done);
    });
    assert.equal(store.heldCount, 1);
  });

  it('stays where it waits for the end of a list, as long as a quarter of the room is enough for all that do', async () => {
    for (const [roomBytes, heldCount] of [
      [4 * 4096 + 4, 1],
      [4 * 4096, 0],
    ] as const) {
      const { store, objects } = setUp({ roomBytes, waits: true });
      await objects.letGoAfter(KEY, () => Promise.resolve(done));
      assert.equal(store.heldCount, heldCount, `a room of ${roomBytes} bytes, of which the object takes 4096`);
    }
  });

  it('is missing where another object has its name by now, which is that of another replica', async () => {
    const client = new FakeKubeClient();
    const store = new IdentityStore();
    store.set(watched);
    store.releaseAll();
    client.put(aModel({ uid: 'theirs' }));
    const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
    const keeps = ({ uid }: { readonly uid: string }): boolean => uid !== 'theirs';
    const objects = new HeldObjects({ client, resource, store, keeps, waits: () => false });
    assert.equal(await objects.get(KEY), undefined);
  });

  it('is missing where the watch has shown none, and where the API server has none any more', async () => {
    const { store, objects } = setUp();
    assert.equal(await objects.get('a-namespace/another'), undefined);
    store.releaseAll();
    assert.equal(await objects.get(KEY), undefined);
  });

  it('takes as much of the budget as the largest object where it has to be read first, and nothing where there is none', () => {
    const { store, objects } = setUp();
    store.releaseAll();
    assert.equal(objects.bytes(KEY), 1024 * 1024);
    assert.equal(objects.bytes('a-namespace/another'), 0);
  });
});
