import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { MissedDeletes } from '../../../src/sync/startup/missed-deletes.ts';
import { aModel } from '../../support/objects.ts';

const gone = (index: number) => asWatched(aModel({ namespace: 'ns', name: `m${index}`, uid: `u${index}` }));
const held = (missedDeletes: MissedDeletes, count: number): number =>
  Array.from({ length: count }, (_, index) => missedDeletes.has(`ns/m${index}`)).filter(Boolean).length;

describe('objects that left', () => {
  it('a standby remembers none of them', () => {
    const missedDeletes = new MissedDeletes();
    for (let index = 0; index < 20_000; index += 1) missedDeletes.delete(gone(index));
    assert.equal(held(missedDeletes, 20_000), 0);
  });

  it('are noted once this process works, and taken once', () => {
    const missedDeletes = new MissedDeletes();
    missedDeletes.begin();
    missedDeletes.delete(gone(1));
    assert.deepEqual(
      missedDeletes.take('ns/m1').map(({ uid }) => uid),
      ['u1'],
    );
    assert.deepEqual(missedDeletes.take('ns/m1'), []);
  });

  it('are held in the state that they left with, where a finalizer held them and no final state is stored', () => {
    const missedDeletes = new MissedDeletes();
    missedDeletes.begin();
    const states = { held: { deletionTimestamp: '2026-01-03T00:00:00Z' }, unguarded: {} };
    for (const [name, metadata] of Object.entries(states)) {
      missedDeletes.delete(asWatched(aModel({ namespace: 'ns', name, ...metadata })));
      const [left] = missedDeletes.take(`ns/${name}`);
      assert.deepEqual([left?.finished, left?.last !== undefined], [false, name === 'held']);
    }
  });

  it('are bounded in number while their rows cannot be ended; the oldest are left to the audit, and that is told', () => {
    let forgotten = 0;
    const missedDeletes = new MissedDeletes(() => (forgotten += 1));
    missedDeletes.begin();
    for (let index = 0; index < 10_100; index += 1) missedDeletes.delete(gone(index));
    assert.equal(held(missedDeletes, 10_100), 10_000);
    assert.equal(forgotten, 100);
    assert.ok(!missedDeletes.has('ns/m0') && missedDeletes.has('ns/m10099'));
  });
});
