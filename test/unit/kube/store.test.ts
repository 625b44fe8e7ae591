import assert from 'node:assert/strict';
import { Session } from 'node:inspector/promises';
import { describe, it } from 'node:test';
import { ByteBudget } from '../../../src/base/byte-budget.ts';
import { readReceived } from '../../../src/kube/http/received-object.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import { asWatched, type WatchedObject } from '../../../src/kube/watched-object.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aModel } from '../../support/objects.ts';

describe('IdentityStore', () => {
  it('holds an object until it is released, and its identity for as long as it exists', () => {
    const store = new IdentityStore();
    const object = asWatched(aModel({ resourceVersion: '1' }));
    store.set(object);
    assert.equal(store.get('a-namespace/a-model'), object);
    store.release('a-namespace/a-model', '1');
    assert.equal(store.get('a-namespace/a-model'), undefined);
    assert.ok(store.has('a-namespace/a-model'));
    assert.equal(store.heldCount, 0);
    const [identity] = [...store.identities()];
    assert.deepEqual(identity, {
      namespace: 'a-namespace',
      name: 'a-model',
      uid: object.identity.uid,
      resourceVersion: '1',
    });
  });

  it('does not release a state that is newer than the state dealt with', () => {
    const store = new IdentityStore();
    store.set(asWatched(aModel({ resourceVersion: '1' })));
    store.set(asWatched(aModel({ resourceVersion: '2' })));
    store.release('a-namespace/a-model', '1');
    assert.equal(store.get('a-namespace/a-model')?.identity.resourceVersion, '2');
  });

  it('keeps an object that will wait for long without managedFields, and counts what it keeps', () => {
    const fields = '"managedFields":[{"manager":"m"}],';
    const text = (name: string): string =>
      `{"metadata":{${fields}"name":"${name}","namespace":"n","uid":"u","resourceVersion":"1"}}`;
    const room = new ByteBudget(1_000_000);
    const store = new IdentityStore(room);
    const names = Array.from({ length: 300 }, (_, index) => `object-${1000 + index}`);
    for (const name of names) store.set(readReceived(Buffer.from(text(name))));
    assert.equal(room.used, 300 * text('object-1000').length - (300 - 256) * fields.length);
    for (const name of names) store.release(`n/${name}`, '1');
    assert.deepEqual([store.heldCount, room.used], [0, 0]);
  });

  it('holds no more bytes than the budget that it shares with other stores', () => {
    const received = (name: string): WatchedObject => readReceived(Buffer.from(JSON.stringify(aModel({ name }))));
    const size = JSON.stringify(aModel({ name: 'a' })).length;
    const room = new ByteBudget(2 * size);
    const [store, other] = [new IdentityStore(room), new IdentityStore(room)];
    store.set(received('a'));
    other.set(received('b'));
    store.set(received('c'));
    assert.deepEqual([store.get('a-namespace/c'), store.has('a-namespace/c')], [undefined, true]);
    assert.deepEqual([store.heldCount, store.size, room.used], [1, 2, 2 * size]);
    other.delete('a-namespace/b');
    store.set(readReceived(Buffer.from(JSON.stringify(aModel({ name: 'a', resourceVersion: '11' })))));
    store.set(received('d'));
    assert.deepEqual([store.heldCount, room.used], [2, 2 * size]);
    for (const [name, version] of [
      ['a', '11'],
      ['d', '10'],
    ] as const)
      store.release(`a-namespace/${name}`, version);
    assert.deepEqual([store.heldCount, room.used], [0, 0]);
  });

  it('does not hold again an object that a new list merely repeats', () => {
    const store = new IdentityStore();
    store.set(asWatched(aModel({ resourceVersion: '1' })));
    store.release('a-namespace/a-model', '1');
    assert.equal(store.set(asWatched(aModel({ resourceVersion: '1' })))?.identity.resourceVersion, '1');
    assert.equal(store.heldCount, 0);
  });

  it('keeps fewer than 180 bytes of an object that was let go', async () => {
    const count = 20_000;
    const text = (index: number): string => {
      const uid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
      const metadata = {
        name: `object-${index}`,
        namespace: 'a-namespace',
        uid,
        resourceVersion: `${1_000_000 + index}`,
      };
      return JSON.stringify({ metadata, spec: {} });
    };
    const store = new IdentityStore();
    const fill = (from: number, to: number): void => {
      for (let index = from; index < to; index += 1) store.set(readReceived(Buffer.from(text(index))));
      store.releaseAll();
    };
    fill(0, 1000);
    const before = await usedHeap();
    fill(1000, 1000 + count);
    const bytes = ((await usedHeap()) - before) / count;
    assert.ok(bytes < 180, `${Math.round(bytes)} bytes an object`);
    assert.equal(store.size, 1000 + count);
  });

  describe('lets a list wait', () => {
    const never = new AbortController().signal;
    const bytes = (name: string): WatchedObject => {
      const metadata = { name, namespace: 'n', uid: name, resourceVersion: '1' };
      return readReceived(Buffer.from(JSON.stringify({ metadata, spec: 'x'.repeat(1000) })));
    };

    /** Three eighths of the room are taken by two of these and more. */
    function full() {
      const store = new IdentityStore(new ByteBudget(5000));
      const clock = new FakeClock();
      for (const name of ['a', 'b', 'c']) store.set(bytes(name));
      const waits = { over: false };
      const wait = async (signal = never): Promise<void> => {
        waits.over = false;
        await store.untilRoom(clock, signal);
        waits.over = true;
      };
      return { store, clock, waits, wait };
    }

    it('until five eighths of the room are free', async () => {
      const { store, clock, waits, wait } = full();
      void wait();
      await clock.advance(9000);
      assert.equal(waits.over, false);
      store.release('n/a', '1');
      await clock.advance(9000);
      assert.equal(waits.over, false, 'what was let go is progress, and not yet enough');
      store.release('n/b', '1');
      await clock.advance(20);
      assert.equal(waits.over, true);
    });

    it('for ten seconds in which nothing is let go, and then no more until something is', async () => {
      const { store, clock, waits, wait } = full();
      void wait();
      await clock.advance(9990);
      assert.equal(waits.over, false);
      await clock.advance(50);
      assert.equal(waits.over, true);
      await wait();
      assert.equal(waits.over, true);
      store.release('n/a', '1');
      store.set(bytes('d'));
      void wait();
      await clock.advance(1000);
      assert.equal(waits.over, false, 'it is patient again');
    });

    it('no longer than until it is stopped', async () => {
      const { clock, waits, wait } = full();
      const stop = new AbortController();
      const waiting = wait(stop.signal);
      stop.abort();
      await waiting;
      assert.deepEqual([waits.over, clock.pending], [true, 0]);
    });
  });
});

/** After a collection of everything, for which no flag is needed. */
async function usedHeap(): Promise<number> {
  const session = new Session();
  session.connect();
  for (let times = 0; times < 2; times += 1) await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
  return process.memoryUsage().heapUsed;
}
