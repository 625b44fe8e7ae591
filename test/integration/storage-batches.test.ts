// Group commit on the real servers: outcomes per caller, poison rows, concurrent writers, back-pressure, shutdown.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createConnection } from 'mysql2/promise';
import { systemClock } from '../../src/base/clock.ts';
import type { CodedError } from '../../src/base/errors.ts';
import type { WriteOutcome } from '../../src/storage/metadata-storage.ts';
import { dialectOf } from '../../src/storage/mysql/dialect.ts';
import { MysqlPool } from '../../src/storage/mysql/pool.ts';
import { statementsFor } from '../../src/storage/mysql/schema/statements.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { parametersFor, pendingWrite } from '../../src/storage/mysql/store/pending-write.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { useDatabase } from '../support/databases.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { aModelRow, kindNamed, modelKind } from '../support/objects.ts';

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`group commit on ${flavour}`, () => {
    const database = useDatabase(flavour);
    const storage = () => database().storage;
    const commits = async (): Promise<number> => {
      const [row] = await database().database.query("SHOW GLOBAL STATUS LIKE 'Com_commit'");
      return Number(row?.['Value']);
    };

    it('shares transactions between concurrent writes', async () => {
      const before = await commits();
      const rows = numbers(300).map((index) => aModelRow({ uid: `shared-${index}`, name: `shared-${index}` }));
      const outcomes = await Promise.all(rows.map((row) => storage().upsert(row)));
      assert.deepEqual(new Set(outcomes), new Set(['inserted']));
      const used = (await commits()) - before;
      assert.ok(used <= 20, `${used} commits for 300 objects`);
    });

    it('stores objects within the wait for one locked row, and then without any, while a foreign transaction keeps it', async (test) => {
      const upsert = async (index: number, version: number): Promise<string> => {
        const row = aModelRow({ uid: `beside-${index}`, name: `beside-${index}`, resourceVersion: String(version) });
        return storage()
          .upsert(row)
          .catch((error: unknown) => (error as CodedError).code);
      };
      const timed = async (version: number): Promise<readonly [seconds: number, outcomes: readonly string[]]> => {
        const started = performance.now();
        const locked = upsert(0, version);
        const outcomes = await Promise.all(numbers(60).map((index) => upsert(index + 1, version)));
        const seconds = (performance.now() - started) / 1000;
        return [seconds, [await locked, ...new Set(outcomes)]];
      };
      await timed(1);
      const { server, options } = database();
      const { host, port, rootUser: user, rootPassword: password } = server;
      const foreign = await createConnection({ host, port, user, password, database: options.database });
      test.after(() => foreign.destroy());
      await foreign.query('START TRANSACTION');
      await foreign.query("SELECT 1 FROM `model` WHERE `uid` = 'beside-0' FOR UPDATE");
      const [first, outcomes] = await timed(2);
      assert.deepEqual(outcomes, ['STORAGE_CONTENTION', 'updated']);
      assert.ok(first < 8, `after ${first} s`);
      const [second, again] = await timed(3);
      assert.deepEqual(again, ['STORAGE_CONTENTION', 'updated']);
      assert.ok(second < 2, `after ${second} s`);
      await foreign.query('ROLLBACK');
      assert.equal(await upsert(0, 4), 'updated');
    });

    it('stores objects at once while objects with tens of thousands of labels are written', async () => {
      const heavy = numbers(8).map((index) => {
        const labels = Object.fromEntries(numbers(20_000).map((label) => [`label-${label}`, `${index}`]));
        return aModelRow({ uid: `heavy-${index}`, name: `heavy-${index}`, labels });
      });
      let left = heavy.length;
      const written = heavy.map(async (row) => {
        assert.equal(await storage().upsert(row), 'inserted');
        left -= 1;
      });
      const waits: number[] = [];
      for (let index = 0; left > 1; index += 1) {
        const started = performance.now();
        await storage().upsert(aModelRow({ uid: `light-${index}`, name: `light-${index}` }));
        waits.push(performance.now() - started);
      }
      const started = performance.now();
      await Promise.all(written);
      const longest = Math.max(...waits);
      assert.ok(waits.length > 20, `${waits.length} objects were written meanwhile`);
      assert.ok(
        longest < 1000,
        `one waited for ${longest} ms, and the last heavy one took ${performance.now() - started} ms`,
      );
    });

    it('tells each caller what its own write did', async () => {
      let run = 0;
      const write = fc.record({ object: fc.nat(4), version: fc.integer({ min: 1, max: 4 }), ends: fc.boolean() });
      const at = new Date('2026-05-06T07:08:09Z');
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(write, { maxLength: 12 }), { maxLength: 6 }), async (waves) => {
          run += 1;
          const memory = new MemoryStorage();
          for (const wave of waves) {
            const calls = wave.map(({ object, version, ends }) => {
              const uid = `own-${run}-${object}`;
              const row = aModelRow({
                uid,
                name: uid,
                resourceVersion: String(version),
                labels: { v: String(version) },
              });
              return (to: MemoryStorage | MysqlMetadataStorage): Promise<WriteOutcome> =>
                ends ? to.finish(row, at) : to.upsert(row);
            });
            const expected: WriteOutcome[] = [];
            for (const call of calls) expected.push(await call(memory));
            assert.deepEqual(await Promise.all(calls.map((call) => call(storage()))), expected);
          }
        }),
        { numRuns: 40 },
      );
    });

    it('reports a row that the server refuses to its caller alone', async () => {
      const good = numbers(60).map((index) => aModelRow({ uid: `good-${index}`, name: `good-${index}` }));
      const bad = (uid: string, change: Partial<ObjectRow>): ObjectRow => ({
        ...aModelRow({ uid, name: uid }),
        ...change,
      });
      const poison = [
        bad('bad-json', { json: '{"not json' }),
        bad('bad-time', { createTime: 'yesterday' }),
        bad('bad-name', { name: 'n'.repeat(300) }),
        bad('bad-version', { resourceVersion: '99999999999999999999999' }),
        bad('bad-label', { labels: [['key', 'v'.repeat(64)]] }),
        bad('bad-label-long', { labels: [['key', 'v'.repeat(200)]] }),
        bad('bad-key', { labels: [['k'.repeat(318), 'value']] }),
        bad('bad-note', { annotations: [['k'.repeat(400), 'value']] }),
      ];
      const rows = [...good.slice(0, 30), ...poison, ...good.slice(30)];
      const results = await Promise.allSettled(rows.map((row) => storage().upsert(row)));
      results.forEach((result, index) => {
        const uid = rows[index]?.uid ?? '';
        if (uid.startsWith('good')) assert.deepEqual(result, { status: 'fulfilled', value: 'inserted' }, uid);
        else assert.equal(result.status === 'rejected' && (result.reason as { code: string }).code, 'ROW_REFUSED', uid);
      });
      for (const { uid } of poison) assert.equal(await storage().getById(modelKind, uid), undefined);
    });

    it('refuses a row above the packet limit without losing the connection or its neighbours', async () => {
      const { server, options } = database();
      await database().database.query('SET GLOBAL max_allowed_packet = 4194304');
      const limited = new MysqlMetadataStorage(options, systemClock);
      try {
        const huge = { ...aModelRow({ uid: 'huge' }), json: JSON.stringify({ text: 'x'.repeat(5_000_000) }) };
        const large = { ...aModelRow({ uid: 'large' }), json: JSON.stringify({ text: 'x'.repeat(3_000_000) }) };
        const results = await Promise.allSettled([huge, large].map((row) => limited.upsert(row)));
        assert.equal(results[0]?.status === 'rejected' && (results[0].reason as { code: string }).code, 'ROW_REFUSED');
        assert.deepEqual(results[1], { status: 'fulfilled', value: 'inserted' });
      } finally {
        await limited.close();
        await database().database.query('SET GLOBAL max_allowed_packet = 67108864');
      }
      assert.ok(server.port > 0);
    });

    it('compares versions in SQL last: an older state fails the statement, and its row stays', async () => {
      const row = aModelRow({ uid: 'checked', resourceVersion: '10' }, { algorithm: 'newest' });
      await storage().upsert(row);
      const pool = new MysqlPool(database().options, systemClock);
      for (const version of ['9', '10']) {
        const older = aModelRow({ uid: 'checked', resourceVersion: version }, { algorithm: 'older' });
        const pending = pendingWrite(older, { statement: 'write', state: 'live' });
        const parameters = parametersFor(pending, older.uid, '2026-01-01 00:00:00.000000');
        const { write } = statementsFor(modelKind, dialectOf('8.4'));
        await assert.rejects(
          pool.transaction((session) => session.execute(write(1), parameters)),
          { code: 'ROW_REFUSED' },
        );
      }
      await pool.close();
      assert.match((await storage().getById(modelKind, 'checked'))?.json ?? '', /newest/);
    });

    it('keeps 64 writers and three programs out of each other’s way', async () => {
      const others = [
        new MysqlMetadataStorage(database().options, systemClock),
        new MysqlMetadataStorage(database().options, systemClock),
      ];
      const storages = [storage(), ...others];
      const kinds = [modelKind, kindNamed('Pipeline'), kindNamed('Project')];
      const rowOf = (object: number, version: number): ObjectRow => {
        const uid = `crowd-${object}`;
        const labels = Object.fromEntries(numbers(8).map((key) => [`k${(key + version) % 11}`, `v${version}`]));
        const row = aModelRow({
          uid,
          name: uid,
          resourceVersion: String(version),
          labels,
          annotations: { a: `${version}` },
        });
        const kind = kinds[object % kinds.length] ?? modelKind;
        return { ...row, kind, columns: kind.indexes.flat().map(() => null) };
      };
      const writer = async (index: number): Promise<void> => {
        for (const round of numbers(12)) {
          const object = (index * 7 + round * 5) % 40;
          await storages[index % storages.length]?.upsert(rowOf(object, round + 1));
        }
      };
      await Promise.all(numbers(64).map(writer));
      for (const object of numbers(40)) {
        const stored = await storage().getById(kinds[object % kinds.length] ?? modelKind, `crowd-${object}`);
        if (stored === undefined) continue;
        const expected = rowOf(object, Number(stored.resourceVersion));
        assert.deepEqual({ ...stored.labels }, Object.fromEntries(expected.labels));
        assert.deepEqual({ ...stored.annotations }, Object.fromEntries(expected.annotations));
      }
      for (const other of others) await other.close();
    });

    it('closes the gate only when no write is under way, and lets none slip through', async () => {
      const other = new MysqlMetadataStorage(database().options, systemClock);
      const rows = numbers(600).map((index) => aModelRow({ uid: `gate-${index}`, name: `gate-${index}` }));
      const writes = Promise.allSettled(rows.map((row) => storage().upsert(row)));
      await other.closeGate('a-task', 'a test');
      const count = async (): Promise<number> => {
        const [row] = await database().database.query("SELECT COUNT(*) AS n FROM model WHERE uid LIKE 'gate-%'");
        return Number(row?.['n']);
      };
      const whenClosed = await count();
      const written = (await writes).filter(({ status }) => status === 'fulfilled').length;
      assert.deepEqual([await count(), written], [whenClosed, whenClosed]);
      assert.ok(written < 600, 'the gate closed after all writes; it proved nothing');
      await other.openGate('a-task');
      await other.close();
    });

    it('settles the writes it took before it closes, and takes none afterwards', async () => {
      const closing = new MysqlMetadataStorage(database().options, systemClock);
      const rows = numbers(400).map((index) => aModelRow({ uid: `closing-${index}`, name: `closing-${index}` }));
      const outcomes = Promise.all(rows.map((row) => closing.upsert(row)));
      await closing.close();
      assert.equal((await outcomes).filter((outcome) => outcome === 'inserted').length, 400);
      await assert.rejects(closing.upsert(aModelRow({ uid: 'late' })), { code: 'STORAGE_UNAVAILABLE' });
    });
  });
}
