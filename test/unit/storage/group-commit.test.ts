import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import {
  RowsHeldError,
  ShardUnavailableError,
  StorageContentionError,
  StorageProgramError,
} from '../../../src/storage/errors.ts';
import type { WriteOutcome } from '../../../src/storage/metadata-storage.ts';
import { GroupCommit } from '../../../src/storage/mysql/store/group-commit.ts';
import { pendingWrite } from '../../../src/storage/mysql/store/pending-write.ts';
import { isOnShard, ShardsAway } from '../../../src/storage/mysql/store/shards-away.ts';
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
  shards: new ShardsAway(systemClock),
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

  describe('with a shard that is away', () => {
    const shard = '80-';
    const uids = Array.from({ length: 32 }, (_, index) => index);
    const ofShard = uids.filter((index) => isOnShard(shard, `uid-${index}`));
    const ofOthers = uids.filter((index) => !ofShard.includes(index));
    const away = new ShardUnavailableError('ER_UNKNOWN_ERROR 1105', shard);
    const setUp = (failure: Error = away) => {
      const clock = new FakeClock();
      const shards = new ShardsAway(clock);
      const state = { isAway: true, batches: [] as string[][] };
      const commits = new GroupCommit({
        ...settings,
        lanes: 2,
        clock,
        shards,
        commit: (writes) => {
          const names = writes.map(({ row }) => row.uid);
          state.batches.push(names);
          if (state.isAway && names.some((uid) => isOnShard(shard, uid))) return Promise.reject(failure);
          for (const uid of names) shards.answered(uid);
          return Promise.resolve(writes.map((): WriteOutcome => 'inserted'));
        },
      });
      const failed = async (indexes: readonly number[]): Promise<readonly number[]> => {
        const outcomes = await Promise.allSettled(indexes.map((index) => commits.submit(write(index))));
        return indexes.filter((_, at) => outcomes[at]?.status === 'rejected');
      };
      return { clock, state, shards, commits, failed };
    };

    it('writes the rows of the others in the same moment, and asks once a second whether it is back', async () => {
      const { clock, state, commits, failed } = setUp();
      assert.deepEqual(await failed(uids), ofShard);
      assert.deepEqual(state.batches.length, 2);
      assert.deepEqual(await failed(ofShard), ofShard);
      assert.deepEqual(state.batches.length, 2, 'none was asked for in the same second');
      await clock.advance(1000);
      state.isAway = false;
      assert.deepEqual(await failed(ofShard), ofShard.slice(1), 'one asks');
      assert.deepEqual(await failed(uids), []);
      await commits.close();
    });

    it('writes its rows again at once when a check says that every shard answers', async () => {
      const { state, shards, commits, failed } = setUp();
      assert.deepEqual(await failed(uids), ofShard);
      state.isAway = false;
      shards.answered();
      assert.deepEqual(await failed(uids), []);
      await commits.close();
    });

    it('changes rows of the others that share a transaction with an object that needs every shard', async () => {
      const { commits, shards, failed } = setUp(away.keeping(['uid-0']));
      assert.deepEqual(
        await failed(uids),
        uids.filter((index) => index === 0 || ofShard.includes(index)),
      );
      assert.equal(shards.any(), undefined, 'one that is refused without asking says nothing new of the shard');
      await commits.close();
    });

    it('tells every writer when the shard that is named has none of the rows', async () => {
      const { commits, failed } = setUp(new ShardUnavailableError('ER_UNKNOWN_ERROR 1105', 'c0-c0'));
      assert.deepEqual(await failed(uids), uids);
      assert.notEqual(ofOthers.length, 0);
      await commits.close();
    });
  });
});
