import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Places } from '../../../src/query/places.ts';

const never = new AbortController().signal;

function takeAll(places: Places, user: string): number {
  let taken = 0;
  while (places.tryTake(user)) taken += 1;
  return taken;
}

describe('places that users share', () => {
  it('leave one for each of many greedy users', () => {
    const places = new Places(64);
    const taken = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((user) => takeAll(places, user));
    assert.deepEqual(taken, [22, 14, 10, 6, 4, 3, 2, 1]);
    assert.ok(places.tryTake('another'));
  });

  it('are free again once they are given back', () => {
    const places = new Places(4);
    assert.equal(takeAll(places, 'a'), 2);
    places.give('a');
    assert.equal(takeAll(places, 'a'), 1);
    assert.equal(takeAll(new Places(1), 'a'), 1);
  });

  it('are waited for, and a user with a full share does not hold up the others', async () => {
    const places = new Places(4);
    const order: string[] = [];
    const gates = new Map(['a1', 'a2', 'a3', 'b1'].map((name) => [name, Promise.withResolvers<undefined>()]));
    const run = (name: string): Promise<void> =>
      places.around(name.slice(0, 1), never, async () => {
        order.push(name);
        await gates.get(name)?.promise;
      });
    const all = ['a1', 'a2', 'a3', 'b1'].map(run);
    await new Promise(setImmediate);
    assert.deepEqual(order, ['a1', 'a2', 'b1']);
    for (const name of ['a1', 'b1']) gates.get(name)?.resolve(undefined);
    await Promise.all([all[0], all[3]]);
    await new Promise(setImmediate);
    assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3']);
    for (const gate of gates.values()) gate.resolve(undefined);
    await Promise.all(all);
    assert.equal(takeAll(places, 'c'), 2);
  });

  it('are not taken by a user who has left meanwhile', async () => {
    const places = new Places(1);
    assert.ok(places.tryTake('a'));
    const leaver = new AbortController();
    const left = assert.rejects(
      places.around('b', leaver.signal, () => Promise.resolve()),
      { name: 'AbortError' },
    );
    leaver.abort();
    await left;
    places.give('a');
    assert.ok(places.tryTake('c'));
  });

  it('gives one user no more than a fixed number, however many are free', () => {
    const places = new Places(100, 3);
    assert.deepEqual(
      Array.from({ length: 5 }, () => places.tryTake('a')),
      [true, true, true, false, false],
    );
    assert.ok(places.tryTake('b'));
    places.give('a');
    assert.ok(places.tryTake('a'));
  });
});
