// When a row says that it changed. Readers of the change feed go on behind the times that they have seen, so a time that is long
// past when its transaction is committed is never seen.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../src/base/clock.ts';
import { systemClock } from '../../src/base/clock.ts';
import { MysqlPool } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { useDatabase } from '../support/databases.ts';
import { type MysqlProxy, startMysqlProxy, type Verdict } from '../support/mysql-proxy.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

const MINUTE_MS = 60_000;

describe('the time of a change', () => {
  const database = useDatabase('mysql');
  let shiftMs = 0;
  /** What becomes of the next commits, each of which takes a minute. */
  let slowCommits: Verdict[] = [];
  let proxy: MysqlProxy;
  let storage: MysqlMetadataStorage;
  const clock: Clock = {
    ...systemClock,
    now: () => new Date(systemClock.now().getTime() + shiftMs),
    monotonicMs: () => systemClock.monotonicMs() + shiftMs,
  };
  const changed = async (uid: string) =>
    Date.parse((await database().storage.getById(modelKind, uid))?.updateTime ?? assert.fail('no row'));
  const row = (uid: string, resourceVersion = '5') => aModelRow({ uid, name: uid, resourceVersion });
  const commits = () => slowCommits.length;

  before(async () => {
    proxy = await startMysqlProxy(database().options, (sql) => {
      const verdict = sql === 'COMMIT' ? slowCommits.shift() : undefined;
      if (verdict !== undefined) shiftMs += MINUTE_MS;
      return verdict ?? 'pass';
    });
    storage = new MysqlMetadataStorage({ ...database().options, host: proxy.host, port: proxy.port }, clock);
    await storage.upsert(row('first'));
  });
  after(async () => {
    await storage.close();
    await proxy.close();
  });

  it('is that of its transaction and not of the wish, where a write waits for the gate', async () => {
    const pool = new MysqlPool(database().options, systemClock);
    const { promise: held, resolve: hold } = Promise.withResolvers<undefined>();
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<undefined>();
    const holding = pool.transaction(async (session) => {
      await session.query('SELECT id FROM ingester_gate WHERE id = 1 FOR UPDATE');
      hold(undefined);
      await mayEnd;
    });
    await held;
    const written = storage.upsert(row('waiting'));
    const removed = storage.markMissedDelete(modelKind, { uid: 'first', resourceVersion: '5' }, new Date(), 'gone');
    await sleep(200);
    shiftMs += MINUTE_MS;
    const released = clock.now().getTime();
    end(undefined);
    await Promise.all([holding, written, removed]);
    await pool.close();
    for (const uid of ['waiting', 'first']) assert.ok((await changed(uid)) >= released, uid);
  });

  it('is noted once more where the commit took long', async () => {
    slowCommits = ['pass'];
    assert.equal(await storage.upsert(row('slow')), 'inserted');
    assert.ok((await changed('slow')) >= clock.now().getTime() - 5000);
  });

  it('is noted once more where the answer to the commit was lost and the write is repeated, and only then', async () => {
    slowCommits = ['cut-after'];
    await assert.rejects(storage.upsert(row('lost')), { code: 'STORAGE_UNAVAILABLE' });
    assert.ok((await changed('lost')) < clock.now().getTime() - 5000, 'it is committed');
    assert.equal(await storage.upsert(row('lost')), 'unchanged');
    const noted = await changed('lost');
    assert.ok(noted >= clock.now().getTime() - 5000);
    assert.equal(await storage.upsert(row('lost')), 'unchanged');
    assert.equal(await changed('lost'), noted);
  });

  it('keeps no write from its end where every commit takes long', async () => {
    slowCommits = Array.from({ length: 10 }, () => 'pass');
    assert.equal(await storage.upsert(row('always')), 'inserted');
    assert.equal(commits(), 7);
    slowCommits = [];
  });
});
