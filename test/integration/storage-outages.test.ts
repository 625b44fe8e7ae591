// Long outages in short time, full disks, lost answers, clocks that differ, versions that do not suit.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createConnection } from 'mysql2/promise';
import { createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { startDatabase } from '../../hack/local/mysql.ts';
import { startTcpProxy } from '../../hack/local/tcp-proxy.ts';
import { isAborted } from '../../src/base/abort.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { CodedError } from '../../src/base/errors.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { useDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { migrateAll } from '../support/migrations.ts';
import { startMysqlProxy } from '../support/mysql-proxy.ts';
import { aModelRow, kindNamed, modelKind } from '../support/objects.ts';
import { fillUp, smallDisk } from '../support/small-disk.ts';

const MEBIBYTE = 1024 * 1024;

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const rowOf = (uid: string, version: number, note = 'x'): ObjectRow =>
  aModelRow(
    { uid, name: uid, resourceVersion: String(version), labels: { v: String(version) } },
    { description: note },
  );
const codeOf = (write: Promise<unknown>): Promise<string> =>
  write.then(
    () => '',
    (error: unknown) => (error as CodedError).code,
  );

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`outages of ${flavour}`, () => {
    const database = useDatabase(flavour);

    for (const [name, seconds] of [
      ['a minute', 60],
      ['a quarter of an hour', 900],
    ] as const) {
      it(`of ${name} drop nothing, and writes go on at once afterwards`, async () => {
        const clock = new FakeClock();
        const proxy = await startTcpProxy(database().server);
        const { host, port } = proxy;
        const storage = new MysqlMetadataStorage({ ...database().options, host, port }, clock);
        const uids = numbers(10).map((index) => `outage-${seconds}-${index}`);
        /** Time goes on while the writes are under way: retries wait for the clock, the network does not. */
        const all = async (version: number): Promise<readonly string[]> => {
          const over = new AbortController();
          const writes = Promise.all(uids.map((uid) => codeOf(storage.upsert(rowOf(uid, version))))).finally(() =>
            over.abort(),
          );
          while (!isAborted(over.signal)) await clock.advance(50);
          return writes;
        };
        assert.deepEqual(new Set(await all(1)), new Set(['']));
        await proxy.cut();
        const start = clock.monotonicMs();
        while (clock.monotonicMs() - start < seconds * 1000) {
          assert.deepEqual(new Set(await all(2)), new Set(['STORAGE_UNAVAILABLE']));
          await clock.advance(30_000);
        }
        await proxy.heal();
        assert.deepEqual(new Set(await all(2)), new Set(['']));
        for (const uid of uids) {
          assert.equal((await database().storage.getById(modelKind, uid))?.resourceVersion, '2');
        }
        await storage.close();
        await proxy.close();
      });
    }

    it('that swallow the answer to a commit leave one row in one state', async () => {
      let commits = 0;
      const proxy = await startMysqlProxy(database().options, (sql) => {
        if (sql !== 'COMMIT') return 'pass';
        commits += 1;
        return commits % 2 === 1 ? 'cut-after' : 'pass';
      });
      const { host, port } = proxy;
      const storage = new MysqlMetadataStorage({ ...database().options, host, port }, systemClock);
      for (const version of numbers(8)) {
        const outcome = await storage.upsert(rowOf('unanswered', version + 1));
        assert.equal(outcome, 'unchanged', 'the repeat finds what the first try has written');
      }
      assert.equal(commits, 16);
      const stored = await database().storage.getById(modelKind, 'unanswered');
      assert.deepEqual([stored?.resourceVersion, { ...stored?.labels }], ['8', { v: '8' }]);
      const [count] = await database().database.query("SELECT COUNT(*) AS n FROM model WHERE uid = 'unanswered'");
      assert.equal(Number(count?.['n']), 1);
      await storage.close();
      await proxy.close();
    });

    it('do not make the memory grow: the queue has a limit, and callers wait at it', async () => {
      const proxy = await startTcpProxy(database().server);
      const { host, port } = proxy;
      const options = { ...database().options, host, port, readTimeoutMs: 3000 };
      const storage = new MysqlMetadataStorage(options, systemClock);
      await storage.check([modelKind]);
      proxy.freeze();
      const megabyte = 'm'.repeat(1024 * 1024);
      const rows = numbers(150).map((index) => rowOf(`memory-${index}`, 1, megabyte));
      const writes = rows.map((row) => codeOf(storage.upsert(row)));
      await new Promise((resolve) => setTimeout(resolve, 500));
      const queued = storage.queuedBytes;
      assert.ok(queued > 32 * 1024 * 1024 && queued <= 64 * 1024 * 1024, `${queued} bytes are queued`);
      await proxy.heal();
      const codes = await Promise.all(writes);
      assert.deepEqual(
        codes.filter((code) => code !== '' && code !== 'STORAGE_UNAVAILABLE'),
        [],
      );
      assert.equal(storage.queuedBytes, 0);
      const refused = rows.filter((_row, index) => codes[index] !== '');
      await eventually(async () => {
        for (const row of refused) assert.equal(await codeOf(storage.upsert(row)), '');
      });
      await storage.close();
      await proxy.close();
    });

    it('of one table, which an ALTER keeps locked, hold up no write of another kind that shares its transaction', async (test) => {
      const { server, options } = database();
      const { host, port, rootUser: user, rootPassword: password } = server;
      const administrator = () => createConnection({ host, port, user, password, database: options.database });
      const [reader, alters] = [await administrator(), await administrator()];
      test.after(() => {
        for (const each of [reader, alters]) each.destroy();
      });
      const storage = new MysqlMetadataStorage({ ...options, lockTimeoutMs: 1000 }, systemClock);
      await reader.query('START TRANSACTION');
      await reader.query('SELECT 1 FROM `model` LIMIT 1');
      const altered = alters.query('ALTER TABLE `model` ADD COLUMN `of_an_administrator` INT');
      const waiting = "SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock'";
      await eventually(async () => assert.equal((await database().database.query(waiting)).length, 1));
      const locked = codeOf(storage.upsert(rowOf('locked-table', 1)));
      const other = await codeOf(storage.upsert({ ...rowOf('beside-a-locked-table', 1), kind: kindNamed('Project') }));
      assert.deepEqual([other, await locked], ['', 'STORAGE_CONTENTION']);
      await reader.query('COMMIT');
      await altered;
      assert.equal(await codeOf(storage.upsert(rowOf('locked-table', 1))), '');
      await storage.close();
    });

    it('are not caused by clocks that differ: versions order the writes, not times', async () => {
      const day = 24 * 60 * 60 * 1000;
      const shifted = (by: number) => ({ ...systemClock, now: () => new Date(Date.now() + by) });
      const [behind, ahead] = [-day, day].map((by) => new MysqlMetadataStorage(database().options, shifted(by)));
      assert.ok(behind !== undefined && ahead !== undefined);
      assert.equal(await ahead.upsert(rowOf('clocks', 5)), 'inserted');
      assert.equal(await behind.upsert(rowOf('clocks', 6)), 'updated');
      assert.equal(await ahead.upsert(rowOf('clocks', 4)), 'stale');
      assert.equal((await behind.getById(modelKind, 'clocks'))?.resourceVersion, '6');
      await Promise.all([behind.close(), ahead.close()]);
    });

    it('are reported for a schema that does not suit: writers and readers say so and change nothing', async () => {
      const { storage, database: bundle } = database();
      const set = (version: number, reader: number, writer: number) =>
        bundle.query(
          `UPDATE ingester_gate SET schema_version = ${version}, min_reader = ${reader}, min_writer = ${writer}`,
        );
      const both = async (): Promise<readonly string[]> => [
        await codeOf(storage.check([modelKind])),
        await codeOf(storage.upsert(rowOf('suits', 1))),
      ];
      await set(3, 1, 1);
      assert.deepEqual(await both(), ['', ''], 'a newer schema that says it suits the version before');
      await set(4, 1, 4);
      assert.deepEqual(await both(), ['', 'SCHEMA_NEWER'], 'reading is still allowed');
      await set(5, 5, 5);
      assert.deepEqual(await both(), ['SCHEMA_NEWER', 'SCHEMA_NEWER']);
      await set(0, 0, 0);
      assert.deepEqual(await both(), ['SCHEMA_OLDER', 'SCHEMA_OLDER']);
      await set(2, 1, 1);
      await bundle.query('RENAME TABLE model TO hidden');
      assert.deepEqual(await both(), ['STORAGE_SCHEMA_MISSING', 'STORAGE_SCHEMA_MISSING']);
      await bundle.query('RENAME TABLE hidden TO model');
      assert.deepEqual(await both(), ['', '']);
    });
  });
}

describe('a full disk', () => {
  it('is an error that says so, loses nothing that was written, and is over when there is room', async (t) => {
    const disk = smallDisk(420);
    if (disk === undefined) {
      t.skip('a small file system can only be mounted by root');
      return;
    }
    const parent = disk.folder;
    const server = await startDatabase({ flavour: 'mariadb', parentDirectory: parent });
    try {
      const bundle = await createBundleDatabase(server);
      const pool = { maxOpenConns: 5, maxIdleConns: 5, connMaxLifetimeMs: 0, readTimeoutMs: 2000 };
      const options = { host: server.host, port: server.port, ...bundle.writer, database: bundle.name, ...pool };
      await migrateAll({ ...options, ...bundle.migrator });
      const storage = new MysqlMetadataStorage(options, systemClock);
      mkdirSync(join(parent, 'filler'));
      fillUp(join(parent, 'filler'), [8 * MEBIBYTE, MEBIBYTE]);
      rmSync(join(parent, 'filler', `${8 * MEBIBYTE}-0`), { force: true });
      const note = 'n'.repeat(512 * 1024);
      const written: string[] = [];
      let code = '';
      for (let index = 0; code === '' && index < 400; index += 1) {
        code = await codeOf(storage.upsert(rowOf(`full-${index}`, 1, note)));
        if (code === '') written.push(`full-${index}`);
      }
      assert.equal(code, 'STORAGE_UNAVAILABLE');
      rmSync(join(parent, 'filler'), { recursive: true });
      await eventually(async () => assert.equal(await codeOf(storage.upsert(rowOf('room', 1, note))), ''), 90_000);
      for (const uid of written) assert.equal((await storage.getById(modelKind, uid))?.resourceVersion, '1', uid);
      await storage.close();
    } finally {
      await server.dispose();
      disk.remove();
    }
  });
});
