import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import type { WriteOutcome } from '../../../src/storage/metadata-storage.ts';
import { GroupCommit } from '../../../src/storage/mysql/group-commit.ts';
import { pendingWrite } from '../../../src/storage/mysql/pending-write.ts';
import { aModelRow } from '../../support/objects.ts';

const ROWS = 128;
const write = (index: number) =>
  pendingWrite(aModelRow({ uid: `uid-${index}` }), { statement: 'write', state: 'live' }, new Date());

describe('GroupCommit', () => {
  it('tells the callers of one transaction a few at a time, so that other lanes get their answers meanwhile', async () => {
    const batches: number[] = [];
    const commits = new GroupCommit({
      commit: (writes) => {
        batches.push(writes.length);
        return Promise.resolve(writes.map((): WriteOutcome => 'inserted'));
      },
      lanes: 1,
      batch: { maxRows: ROWS, maxBytes: Infinity },
      lingerMs: 0,
      spacingMs: 0,
      queueBytes: Infinity,
      clock: systemClock,
    });
    let told = 0;
    const callers = Array.from({ length: ROWS }, async (_, index) => {
      assert.equal(await commits.submit(write(index)), 'inserted');
      told += 1;
    });
    const toldInTurns = [0];
    while (told < ROWS) {
      await nextTurn();
      toldInTurns.push(told);
    }
    await Promise.all(callers);
    const most = Math.max(...toldInTurns.slice(1).map((count, index) => count - (toldInTurns[index] ?? 0)));
    assert.deepEqual(batches, [ROWS]);
    assert.ok(most <= ROWS / 4, `${most} of ${ROWS} callers were told in one turn`);
    await commits.close();
  });
});
