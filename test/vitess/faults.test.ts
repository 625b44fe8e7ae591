// What happens to writes when parts of a Vitess die, and who waits for whom where several servers commit.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import { systemClock } from '../../src/base/clock.ts';
import { closeGate, passGate, passing } from '../../src/storage/mysql/gate.ts';
import { MysqlPool } from '../../src/storage/mysql/pool.ts';
import { isOnShard } from '../../src/storage/mysql/store/shards-away.ts';
import { cloneDatabase } from '../../src/storage/mysql/tasks/clone.ts';
import { listSnapshots } from '../../src/storage/mysql/tasks/snapshot.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { eventually } from '../support/eventually.ts';
import { migrationOptions } from '../support/migrations.ts';
import { aModelRow, modelKind } from '../support/objects.ts';
import { queryShard, useVitess } from '../support/use-vitess.ts';

const labels = { team: 'of-the-shards' };

describe('writes to two shards', () => {
  const vitess = useVitess();
  const objects = (what: string, count: number) =>
    Array.from({ length: count }, (_, index) =>
      aModelRow({ uid: `${what}-${index}`, name: `${what}-${index}`, labels }),
    );

  for (const [what, server] of [
    ['a tablet', () => vitess().cluster.tablets[1]],
    ['the vtgate', () => vitess().cluster.vtgate],
  ] as const) {
    it(`that were confirmed are there, with their labels, after ${what} was killed under load`, async () => {
      const { storage } = vitess();
      const rows = objects(what.replaceAll(' ', '-'), 600);
      const confirmed: string[] = [];
      const write = async (row: (typeof rows)[number]): Promise<void> => {
        await eventually(() => storage.upsert(row));
        confirmed.push(row.uid);
      };
      const half = rows.length / 2;
      await Promise.all(rows.slice(0, half).map(write));
      const writing = Promise.all(rows.slice(half).map(write));
      await delay(20);
      await server()?.crash();
      const before = confirmed.length;
      await delay(3000);
      await server()?.start();
      await writing;
      assert.ok(before < rows.length, 'the server died while writes were under way');
      assert.equal(confirmed.length, rows.length);
      for (const uid of confirmed) {
        const stored = await storage.getById(modelKind, uid);
        assert.deepEqual({ ...stored?.labels }, labels, uid);
      }
    });
  }

  for (const { what, end, back, longestMs } of [
    {
      what: 'was killed',
      end: (tablet: ServerProcess) => tablet.crash(),
      back: (tablet: ServerProcess) => tablet.start(),
      longestMs: 3000,
    },
    {
      what: 'is silent',
      end: (tablet: ServerProcess) => tablet.kill('SIGSTOP'),
      back: (tablet: ServerProcess) => tablet.kill('SIGCONT'),
      // vtgate takes 20 seconds to notice it.
      longestMs: 25_000,
    },
  ] as const) {
    it(`change objects on the shard that is there while the tablet of the other ${what}, which costs time once`, async () => {
      const { storage, cluster } = vitess();
      const tablet = cluster.tablets[1];
      assert.ok(tablet !== undefined);
      /** The uids of what is refused, and how long it takes. */
      const store = async (rows: readonly ObjectRow[]): Promise<readonly [readonly string[], number]> => {
        const startedMs = performance.now();
        const outcomes = await Promise.allSettled(rows.map((row) => storage.upsert(row)));
        const refused = rows.filter((_, index) => outcomes[index]?.status === 'rejected');
        return [refused.map(({ uid }) => uid), performance.now() - startedMs];
      };
      const isOfTheOther = ({ uid }: ObjectRow): boolean => isOnShard('80-', uid);
      const known = objects(`known-${what.replaceAll(' ', '-')}`, 64);
      const created = objects(`new-${what.replaceAll(' ', '-')}`, 8);
      const changed = (resourceVersion: string): readonly ObjectRow[] =>
        known.map((row) => ({ ...row, resourceVersion }));
      await eventually(async () => assert.deepEqual((await store(known))[0], []));
      await end(tablet);
      try {
        const [first, firstMs] = await store([...changed('200'), ...created]);
        assert.deepEqual(
          first,
          [...known.filter(isOfTheOther), ...created].map(({ uid }) => uid),
        );
        assert.ok(firstMs < longestMs, `${firstMs} ms`);
        const [second, secondMs] = await store([...changed('300'), ...created]);
        assert.deepEqual(second, first);
        assert.ok(secondMs < 1000, `${secondMs} ms`);
      } finally {
        await back(tablet);
      }
      await eventually(async () => assert.deepEqual((await store([...changed('300'), ...created]))[0], []));
      const there = await queryShard(cluster, cluster.databases.shards[1] ?? '', 'SELECT uid FROM model');
      const uids = new Set(there.map((row) => String(row['uid'])));
      for (const row of [...known, ...created]) assert.equal(uids.has(row.uid), isOfTheOther(row), row.uid);
    });
  }

  it('hold back who closes the gate until every shard has committed', async () => {
    const { options, storage, cluster } = vitess();
    const rows = objects('before-the-gate', 12);
    for (const row of rows) await storage.upsert(row);
    const uids = rows.map(({ uid }) => uid);
    const marks = uids.map(() => '?').join(', ');
    // As a task does that closes the gate, which waits longer for it than a write.
    const pool = new MysqlPool({ ...options, lockTimeoutMs: 30_000 }, systemClock);
    const shard = cluster.tablets[1];
    const isClosed = async (): Promise<boolean> => {
      const [gate] = await queryShard(cluster, cluster.databases.unsharded, 'SELECT closed_by FROM ingester_gate');
      return gate?.['closed_by'] !== null;
    };
    const writing = pool.transaction((session) =>
      passing(
        session,
        () => passGate(session, {}),
        async (gated) => {
          await gated.query(`SELECT uid FROM model WHERE uid IN (${marks}) FOR UPDATE`, uids);
          await gated.execute(`UPDATE model SET algorithm = 'late' WHERE uid IN (${marks})`, uids);
          shard?.kill('SIGSTOP');
        },
      ),
    );
    try {
      await delay(500);
      const closing = pool.transaction((session) => closeGate(session, 'a-test', 'while a commit hangs'));
      await delay(3000);
      assert.equal(await isClosed(), false, 'a shard has not committed yet');
      shard?.kill('SIGCONT');
      await writing;
      await eventually(async () => assert.equal(await isClosed(), true));
      await closing;
    } finally {
      shard?.kill('SIGCONT');
      await storage.openGate('a-test');
      await pool.close();
    }
    const late = await storage.list(modelKind, { where: { field: 'spec.algorithm', operator: '=', value: 'late' } });
    assert.equal(late.items.length, rows.length);
  });

  it('ask for what Vitess has not, and hear which of its tools has it', async () => {
    const { options } = vitess();
    await assert.rejects(listSnapshots(options, 'snapshots'), {
      code: 'STORAGE_LACKS',
      message: /vtctldclient Backup/,
    });
    const clone = { mysql: options, source: options, migrate: migrationOptions(options), attempt: undefined };
    await assert.rejects(cloneDatabase(clone as unknown as Parameters<typeof cloneDatabase>[0]), {
      code: 'STORAGE_LACKS',
      message: /MoveTables.*VDiff/,
    });
  });

  it('find every table in the vschema that ships', async () => {
    const { cluster } = vitess();
    const { shards, unsharded } = cluster.databases;
    const tablesOf = async (database: string): Promise<readonly string[]> =>
      (await queryShard(cluster, database, 'SHOW TABLES')).map((row) => String(Object.values(row)[0])).sort();
    const [first, second] = await Promise.all(shards.map(tablesOf));
    assert.deepEqual(first, second);
    assert.deepEqual(
      (await tablesOf(unsharded)).filter((name) => name.startsWith('ingester_')),
      ['attempts', 'clusters', 'fence', 'gate', 'migrations', 'positions'].map((name) => `ingester_${name}`),
    );
    assert.deepEqual(
      first?.filter((name) => name.startsWith('ingester_')),
      [],
    );
  });
});
