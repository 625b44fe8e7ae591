import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Departures } from '../../../src/sync/departures.ts';
import { aModel } from '../../support/objects.ts';

const gone = (index: number) => aModel({ namespace: 'ns', name: `m${index}`, uid: `u${index}` });
const held = (departures: Departures, count: number): number =>
  Array.from({ length: count }, (_, index) => departures.has(`ns/m${index}`)).filter(Boolean).length;

describe('objects that left', () => {
  it('a standby remembers none of them', () => {
    const departures = new Departures();
    for (let index = 0; index < 20_000; index += 1) departures.delete(gone(index));
    assert.equal(held(departures, 20_000), 0);
  });

  it('are noted once this process works, and taken once', () => {
    const departures = new Departures();
    departures.begin();
    departures.delete(gone(1));
    assert.deepEqual(
      departures.take('ns/m1').map(({ uid }) => uid),
      ['u1'],
    );
    assert.deepEqual(departures.take('ns/m1'), []);
  });

  it('are bounded in number while their rows cannot be ended; the oldest are left to the audit, and that is told', () => {
    let forgotten = 0;
    const departures = new Departures(() => (forgotten += 1));
    departures.begin();
    for (let index = 0; index < 10_100; index += 1) departures.delete(gone(index));
    assert.equal(held(departures, 10_100), 10_000);
    assert.equal(forgotten, 100);
    assert.ok(!departures.has('ns/m0') && departures.has('ns/m10099'));
  });
});
