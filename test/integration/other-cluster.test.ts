// Two clusters at one database: to each of them the rows of the other would look deleted. And two databases of one cluster: in the
// second one nothing of the first would be found.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { systemClock } from '../../src/base/clock.ts';
import { handOver, showOwner } from '../../src/storage/mysql/clusters.ts';
import { MysqlPool } from '../../src/storage/mysql/pool.ts';
import { migrationsFor } from '../../src/storage/mysql/schema/migration-files.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { migrate } from '../../src/storage/mysql/tasks/migrate.ts';
import { useDatabase } from '../support/databases.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

const at = new Date('2026-05-06T07:08:09.123Z');
const refused = { code: 'STORAGE_OTHER_CLUSTER' };

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`a database of one cluster on ${flavour}`, () => {
    const database = useDatabase(flavour);
    const row = aModelRow({ uid: 'ours', name: 'ours', resourceVersion: '5' });
    const storageOf = (uid: string, remembered?: string) => {
      const cluster = () => Promise.resolve({ uid, database: remembered });
      return new MysqlMetadataStorage({ ...database().options, cluster }, systemClock);
    };
    const withStorageOf = async (
      uid: string,
      work: (storage: MysqlMetadataStorage) => Promise<void>,
      since?: string,
    ) => {
      const storage = storageOf(uid, since);
      try {
        await work(storage);
      } finally {
        await storage.close();
      }
    };
    const later = aModelRow({ uid: 'ours', name: 'ours', resourceVersion: '9' });
    const writesOf = (storage: MysqlMetadataStorage): readonly (() => Promise<unknown>)[] => {
      const missed = { uid: 'ours', resourceVersion: '9' };
      const target = { uid: 'ours', resourceVersion: '5' };
      return [
        () => storage.upsert(later),
        () => storage.requestEviction(later, at),
        () => storage.delete(later, at),
        () => storage.finish(later, at),
        () => storage.markMissedDelete(modelKind, missed, at, 'missing'),
        () => storage.replace(later, '5', { state: 'live' }),
        () => storage.directUpdate(modelKind, target, { labels: {}, encode: () => new Uint8Array() }),
        () => storage.backfill(modelKind),
        () => storage.deleteCollection(modelKind, { namespace: row.namespace, states: ['live'] }, at),
        () => storage.recordPosition(modelKind, { resourceVersion: '9', at }),
      ];
    };
    const readsOf = (storage: MysqlMetadataStorage): readonly (() => Promise<unknown>)[] => [
      () => storage.getById(modelKind, 'ours'),
      () => storage.getByName(modelKind, row.namespace, 'ours'),
      () => storage.list(modelKind, {}),
      () => storage.until(new AbortController().signal).list(modelKind, {}),
      () => storage.identities(modelKind, { states: ['live'], limit: 10 }),
      () => storage.namespaces(modelKind, 10),
    ];
    const owner = async () => (await showOwner(database().options, systemClock))?.uid;
    const take = (from: string, to: string) => handOver(database().options, systemClock, { from, to });

    before(async () => {
      assert.equal(await owner(), undefined);
      await withStorageOf('first', async (storage) => {
        await storage.check([modelKind]);
        assert.equal(await owner(), undefined, 'who only looks gets nothing');
        assert.equal(await storage.upsert(row), 'inserted');
      });
    });

    it('belongs to the cluster that wrote first', async () => {
      assert.equal(await owner(), 'first');
    });

    it('takes no write of another cluster, whatever it is, and says whose it is', () =>
      withStorageOf('second', async (storage) => {
        await assert.rejects(storage.check([modelKind]), refused);
        for (const write of writesOf(storage)) await assert.rejects(write, refused);
        const stored = await database().storage.getById(modelKind, 'ours');
        assert.deepEqual([stored?.resourceVersion, stored?.state], ['5', 'live']);
        assert.deepEqual(await database().storage.positions(), []);
        await assert.rejects(storage.upsert(later), /belongs to the cluster .* first.*take-over --from first/);
      }));

    it('is not read for another cluster, whose users have no rights to it, and soon no more for one that has lost it', async () => {
      let later = 0;
      const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + later };
      const options = { ...database().options, cluster: () => Promise.resolve({ uid: 'first' }) };
      const ours = new MysqlMetadataStorage(options, clock);
      await withStorageOf('second', async (storage) => {
        for (const read of readsOf(storage)) await assert.rejects(read, refused);
      });
      for (const read of readsOf(ours)) await read();
      await take('first', 'second');
      later = 10_001;
      for (const read of readsOf(ours)) await assert.rejects(read, refused);
      await take('second', 'first');
      await ours.close();
    });

    it('is told to its cluster until that remembers it, and is then written and read as before', async () => {
      const told: string[] = [];
      const unknowing = { ...database().options, cluster: () => Promise.resolve({ uid: 'first' }) };
      const observers = { onUnnoted: (since: string) => told.push(since) };
      const storage = new MysqlMetadataStorage(unknowing, systemClock, undefined, observers);
      await storage.check([modelKind]);
      await storage.close();
      const since = (await showOwner(database().options, systemClock))?.since;
      assert.deepEqual(told, [since]);
      await withStorageOf(
        'first',
        async (knowing) => {
          await knowing.check([modelKind]);
          assert.equal(await knowing.upsert(aModelRow({ uid: 'known', name: 'known' })), 'inserted');
          assert.equal((await knowing.getById(modelKind, 'known'))?.state, 'live');
        },
        since,
      );
    });

    it('takes no write and gives no answer where the cluster remembers another one, empty or not', async () => {
      const other = { code: 'STORAGE_OTHER_DATABASE', message: /since 2020.*change-database --from 2020-01-01T/ };
      const refuses = async (storage: MysqlMetadataStorage) => {
        await assert.rejects(storage.check([modelKind]), other);
        for (const write of writesOf(storage)) await assert.rejects(write, other);
        for (const read of readsOf(storage)) await assert.rejects(read, other);
      };
      const remembered = '2020-01-01T00:00:00.000000Z';
      await withStorageOf('first', refuses, remembered);
      await withStorageOf('second', (storage) => assert.rejects(storage.upsert(later), refused), remembered);
      const rows = await database().database.query('SELECT * FROM ingester_clusters');
      await database().database.query('DELETE FROM ingester_clusters');
      await withStorageOf('first', refuses, remembered);
      assert.equal(await owner(), undefined, 'it is not taken');
      const [{ uid, since } = {}] = rows;
      await database().database.query('INSERT INTO ingester_clusters VALUES (1, ?, ?)', [String(uid), String(since)]);
    });

    it('belongs to one of two clusters whose first writes come at the same time', async () => {
      await database().database.query('DELETE FROM ingester_clusters');
      const clusters = ['first', 'second', 'third'].map((name) => ({ name, storage: storageOf(name) }));
      const writes = clusters.flatMap(({ name, storage }) =>
        Array.from({ length: 4 }, (_, index) =>
          storage.upsert(aModelRow({ uid: `${name}-${index}`, name: `${name}-${index}` })),
        ),
      );
      const outcomes = await Promise.allSettled(writes);
      await Promise.all(clusters.map(({ storage }) => storage.close()));
      const winner = await owner();
      const written = await database().database.query("SELECT name FROM model WHERE name LIKE '%-_'");
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 4);
      assert.deepEqual(
        written.map(({ name }) => String(name).split('-')[0]),
        [winner, winner, winner, winner],
      );
      await database().database.query("UPDATE ingester_clusters SET uid = 'first'");
    });

    it('is handed to another one only by the name of the one that has it, and once', async () => {
      await assert.rejects(take('third', 'second'), {
        code: 'HANDOVER_REFUSED',
        message: /belongs to first, not to third/,
      });
      assert.equal(await owner(), 'first');
      await withStorageOf('first', (storage) => storage.recordPosition(modelKind, { resourceVersion: '77', at }));
      assert.equal((await take('first', 'second')).uid, 'second');
      assert.equal((await take('first', 'second')).uid, 'second', 'again');
      await withStorageOf('first', (storage) => assert.rejects(storage.upsert(row), refused));
      await withStorageOf('second', async (storage) => {
        await storage.check([modelKind]);
        assert.deepEqual(await storage.positions(), [], 'the numbers of the cluster before mean nothing');
        assert.equal(await storage.upsert(aModelRow({ uid: 'theirs', name: 'theirs' })), 'inserted');
      });
      await take('second', 'first');
    });

    it('is handed over after the writes that are under way, and before every later one', async () => {
      const pool = new MysqlPool(database().options, systemClock);
      const order: string[] = [];
      const { promise: begun, resolve: begin } = Promise.withResolvers<undefined>();
      const { promise: mayEnd, resolve: end } = Promise.withResolvers<undefined>();
      // As a write begins.
      const writing = pool.transaction(async (session) => {
        await session.query(
          "SELECT c.uid FROM ingester_gate g LEFT JOIN ingester_clusters c ON c.uid = 'first' WHERE g.id = 1 LOCK IN SHARE MODE",
        );
        begin(undefined);
        await mayEnd;
        order.push('written');
      });
      await begun;
      const taken = take('first', 'second').then(() => order.push('handed over'));
      await new Promise((resolve) => setTimeout(resolve, 300));
      end(undefined);
      await Promise.all([writing, taken]);
      await pool.close();
      assert.deepEqual(order, ['written', 'handed over']);
      await take('second', 'first');
    });

    it('that was made before there was such a rule gets it while it is written to', async () => {
      const { server, options } = database();
      const old = await createBundleDatabase(server);
      const access = { ...options, ...old.migrator, database: old.name };
      const [first, ...later] = migrationsFor([]);
      assert.ok(first !== undefined && later.length > 0);
      const common = { access, kinds: [], tableNames: 'lowercase', clock: systemClock } as const;
      const readOriginal = () => assert.fail('there are no rows of the original');
      await migrate({ ...common, readOriginal, migrations: [first] });
      // A program of before knows the gate only.
      const before = new MysqlPool({ ...options, ...old.writer, database: old.name }, systemClock);
      let written = 0;
      const stop = new AbortController();
      const writing = (async () => {
        while (!stop.signal.aborted) {
          await before.transaction(async (session) => {
            await session.query('SELECT schema_version FROM ingester_gate WHERE id = 1 LOCK IN SHARE MODE');
            await session.execute(
              "INSERT INTO ingester_positions VALUES ('Model', ?, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE res_version = VALUES(res_version)",
              [++written],
            );
          });
        }
      })();
      await migrate({ ...common, readOriginal });
      const during = written;
      while (written < during + 20) await new Promise((resolve) => setTimeout(resolve, 5));
      stop.abort();
      await writing;
      await before.close();
      const now = new MysqlMetadataStorage(
        { ...options, ...old.writer, database: old.name, cluster: () => Promise.resolve({ uid: 'late' }) },
        systemClock,
      );
      await now.check([modelKind]);
      assert.equal(await now.upsert(row), 'inserted');
      await now.close();
      const [found] = await old.query('SELECT uid FROM ingester_clusters');
      assert.equal(found?.['uid'], 'late');
      await old.drop();
    });
  });
}
