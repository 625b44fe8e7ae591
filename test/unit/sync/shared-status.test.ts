import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { added, SharedStatus, shareKey } from '../../../src/sync/status/shared-status.ts';
import type { IngesterStatus } from '../../../src/sync/status/status.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const failing = { kind: 'Model', namespace: 'ns', name: 'one', code: 'X', message: '', since: '', attempts: 1 };
const status = (objects: number, more: Partial<IngesterStatus> = {}): IngesterStatus => ({
  at: '2026-01-01T00:00:00Z',
  instance: 'a-host',
  storage: {},
  kinds: [{ kind: 'Model', objects, failing: 1 }],
  failingObjects: { count: 1, listed: [failing] },
  spooled: 2,
  ...more,
});

describe('the status where all replicas work', () => {
  it('is the sum of what each of them knows', () => {
    const wentBack = { at: '2026-01-01T00:00:00Z', from: '9', to: '5' };
    const theirs = status(20, {
      instance: 'another',
      storage: { problem: 'away' },
      kinds: [{ kind: 'Model', objects: 20, failing: 0, wentBack }],
    });
    const whole = added(status(10), [theirs], 1);
    assert.deepEqual(whole.kinds, [{ kind: 'Model', objects: 30, failing: 1, wentBack }]);
    assert.equal(whole.instance, 'a-host');
    assert.equal(whole.storage.problem, 'away');
    assert.deepEqual(whole.failingObjects, { count: 2, listed: [failing] });
    assert.equal(whole.spooled, 4);
  });

  it('shows what a replica without a part in the work finds out from the others', () => {
    assert.deepEqual(added(status(0, { kinds: [] }), [status(5)], 10).kinds, status(5).kinds);
  });

  it('counts a replica until it has written nothing for a while, and then forgets it', async () => {
    const clock = new FakeClock();
    const shared = new SharedStatus(clock, 'own');
    const data = (objects: number) => ({ 'status.json': '{}', [shareKey('other')]: JSON.stringify(status(objects)) });
    shared.note(data(1));
    await clock.advance(14_000);
    shared.note(data(2));
    await clock.advance(14_000);
    shared.note(data(2));
    assert.equal(shared.others.length, 1);
    assert.deepEqual(shared.left, []);
    await clock.advance(1000);
    assert.deepEqual(shared.others, []);
    assert.deepEqual(shared.left, [shareKey('other')]);
  });

  it('does not count the leader twice, which was no leader before', () => {
    const shared = new SharedStatus(new FakeClock(), 'own');
    shared.note({ [shareKey('own')]: JSON.stringify(status(1)) });
    assert.deepEqual(shared.others, []);
    assert.deepEqual(shared.left, [shareKey('own')]);
  });
});
