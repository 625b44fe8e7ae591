import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import { RowsHeldError, StorageContentionError, StorageProgramError } from '../../../src/storage/errors.ts';
import type { WriteOutcome } from '../../../src/storage/metadata-storage.ts';
import { GroupCommit } from '../../../src/storage/mysql/store/group-commit.ts';
import { pendingWrite } from '../../../src/storage/mysql/store/pending-write.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aModelRow, kindNamed } from '../../support/objects.ts';

const ROWS = 128;
const write = (index: number) =>
  pendingWrite(aModelRow({ uid: `uid-${index}` }), { statement: 'write', state: 'live' });

const settings = {
  lanes: 1,
  batch: { maxRows: ROWS, maxBytes: Infinity },
  lingerMs: 0,
  spacingMs: 0,
  queueBytes: Infinity,
  clock: systemClock,
};

describe('GroupCommit', () => {
  it('tells the callers of one transaction a few at a time, so that other lanes get their answers meanwhile', async () => {
    const batches: number[] = [];
    const commits = new GroupCommit({
      commit: (writes) => {
        batches.push(writes.length);
        return Promise.resolve(writes.map((): WriteOutcome => 'inserted'));
      },
      ...settings,
    });
    let told = 0;
    const callers = Array.from({ length: ROWS }, async (_, index) => {
      assert.equal(await commits.submit(write(index)), 'inserted');
      told += 1;
    });
    const toldInTurns = [0];
    while (told < ROWS) {
      await yieldToEventLoop();
      toldInTurns.push(told);
    }
    await Promise.all(callers);
    const most = Math.max(...toldInTurns.slice(1).map((count, index) => count - (toldInTurns[index] ?? 0)));
    assert.deepEqual(batches, [ROWS]);
    assert.ok(most <= ROWS / 4, `${most} of ${ROWS} callers were told in one tick`);
    await commits.close();
  });

  it('keeps no other write from its transaction when the program fails at one write', async () => {
    const commits = new GroupCommit({
      ...settings,
      commit: (writes) => {
        if (writes.some(({ row }) => row.uid === 'uid-5'))
          return Promise.reject(new StorageProgramError('TypeError at a line'));
        return Promise.resolve(writes.map((): WriteOutcome => 'inserted'));
      },
    });
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, (_, index) => commits.submit(write(index))));
    const failed = outcomes.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
    assert.deepEqual(failed, [5]);
    await commits.close();
  });

  it('keeps no other kind from its transaction when the table of one is locked for longer than it waits', async () => {
    const clock = new FakeClock();
    const commits = new GroupCommit({
      ...settings,
      clock,
      commit: async (writes) => {
        if (writes.every(({ row }) => row.kind.kind !== 'Model')) return writes.map((): WriteOutcome => 'inserted');
        await clock.advance(3000);
        throw new StorageContentionError('ER_LOCK_WAIT_TIMEOUT 1205', undefined);
      },
    });
    const project = { ...write(1), row: { ...write(1).row, kind: kindNamed('Project') } };
    const outcomes = await Promise.allSettled([write(0), project].map((each) => commits.submit(each)));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'fulfilled'],
    );
    await commits.close();
  });

  it('writes what shares a transaction with a locked row without it, and that row apart from then on until it is free', async () => {
    const clock = new FakeClock();
    const batches: string[][] = [];
    let isLocked = true;
    const commits = new GroupCommit({
      ...settings,
      lanes: 2,
      clock,
      commit: (writes) => {
        const uids = writes.map(({ row }) => row.uid);
        batches.push(uids);
        if (isLocked && uids.includes('uid-1')) return Promise.reject(new RowsHeldError(new Set(['uid-1'])));
        return Promise.resolve(writes.map((): WriteOutcome => 'inserted'));
      },
    });
    const ended = async (...indexes: number[]): Promise<string[]> => {
      const outcomes = await Promise.allSettled(indexes.map((index) => commits.submit(write(index))));
      return outcomes.map(({ status }) => status);
    };
    assert.deepEqual(await ended(0, 1, 2), ['fulfilled', 'rejected', 'fulfilled']);
    assert.deepEqual(await ended(0, 1, 2), ['fulfilled', 'rejected', 'fulfilled']);
    isLocked = false;
    assert.deepEqual(await ended(0, 1), ['fulfilled', 'fulfilled']);
    assert.deepEqual(await ended(0, 1), ['fulfilled', 'fulfilled']);
    assert.deepEqual(batches.map((uids) => uids.join(' ')).toSorted(), [
      'uid-0',
      'uid-0 uid-1',
      'uid-0 uid-1 uid-2',
      'uid-0 uid-2',
      'uid-0 uid-2',
      'uid-1',
      'uid-1',
    ]);
    await commits.close();
  });
});
