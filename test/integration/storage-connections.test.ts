// The way to the database: passwords that change, servers that change their role, certificates, least rights.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { mysqlOptions } from '../../src/app/mysql-options.ts';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import { type MysqlOptions, MysqlPool } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { useDatabase } from '../support/databases.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { despiteGateMoved } from '../support/gate-moved.ts';
import { startMysqlProxy } from '../support/mysql-proxy.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`connections to ${flavour}`, () => {
    const database = useDatabase(flavour);
    let folder: string;
    before(() => void (folder = mkdtempSync(join(tmpdir(), 'ingester-password-'))));
    after(() => rmSync(folder, { recursive: true, force: true }));
    let users = 0;

    /** A user of our own, whose password stands in a file; the options as the roles make them. */
    const withUser = async (
      password: string,
    ): Promise<{
      readonly file: string;
      readonly options: MysqlOptions;
      readonly change: (to: string) => Promise<void>;
    }> => {
      const { database: bundle, options } = database();
      users += 1;
      const user = `rotating_${users}_${bundle.name.slice(-8)}`;
      await bundle.query(`CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`);
      await bundle.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON \`${bundle.name}\`.* TO '${user}'@'%'`);
      const file = join(folder, user);
      writeFileSync(file, `${password}\n`);
      const mysql = { host: options.host, port: String(options.port), user, database: bundle.name };
      const configured = loadConfiguration({
        file: undefined,
        env: {
          INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true',
          INGESTER_MYSQL_HOST: mysql.host,
          INGESTER_MYSQL_PORT: mysql.port,
          INGESTER_MYSQL_USER: user,
          INGESTER_MYSQL_DATABASE: bundle.name,
          INGESTER_MYSQL_PASSWORD_FILE: file,
        },
      });
      const change = async (to: string): Promise<void> => {
        await bundle.query(`ALTER USER '${user}'@'%' IDENTIFIED BY '${to}'`);
      };
      return { file, options: mysqlOptions(configured), change };
    };
    const pools: MysqlPool[] = [];
    const openPool = (...args: ConstructorParameters<typeof MysqlPool>): MysqlPool => {
      const pool = new MysqlPool(...args);
      pools.push(pool);
      return pool;
    };
    afterEach(async () => {
      await Promise.all(pools.splice(0).map((pool) => pool.close()));
    });
    const connectionId = (pool: MysqlPool): Promise<unknown> =>
      pool.read(async (session) => (await session.query('SELECT CONNECTION_ID()'))[0]?.[0]);

    it('use a new password as soon as the old one is refused, without a restart', async () => {
      const { file, options, change } = await withUser('first');
      const pool = openPool({ ...options, connMaxLifetimeMs: 1 }, systemClock);
      await connectionId(pool);
      await change('second');
      await new Promise((resolve) => setTimeout(resolve, 5));
      await connectionId(pool).catch(() => undefined);
      await assert.rejects(connectionId(pool), { code: 'STORAGE_ACCESS_DENIED' });
      writeFileSync(file, 'second\n');
      assert.ok(await connectionId(pool));
    });

    it('use a new password for new connections while the old one still works', async () => {
      const { file, options, change } = await withUser('old');
      const clock = new FakeClock();
      const pool = openPool(options, clock);
      const first = await connectionId(pool);
      assert.equal(await connectionId(pool), first);
      await change('new');
      writeFileSync(file, 'new\n');
      await clock.advance(6000);
      assert.notEqual(await connectionId(pool), first);
      rmSync(file);
      await clock.advance(6000);
      assert.ok(await connectionId(pool), 'a file that is being replaced is no reason to stop');
    });

    it('never show the password in an error', async () => {
      const { options, change } = await withUser('SECRET-password-4711');
      await change('another');
      const pool = openPool(options, systemClock);
      await assert.rejects(connectionId(pool), (error: Error) => {
        assert.doesNotMatch(`${error.message} ${error.stack ?? ''} ${JSON.stringify(error)}`, /SECRET/);
        return true;
      });
    });

    it('are made anew when the server turned read-only, so that they find the writable server', async () => {
      const { database: bundle, options } = database();
      const pool = openPool(options, systemClock);
      const before = await connectionId(pool);
      await bundle.query('SET GLOBAL read_only = ON');
      const write = pool.transaction((session) =>
        session.execute("UPDATE ingester_gate SET reason = 'x' WHERE id = 1"),
      );
      await assert.rejects(write, { code: 'STORAGE_UNAVAILABLE' });
      await bundle.query('SET GLOBAL read_only = OFF');
      assert.notEqual(await connectionId(pool), before);
    });

    it('give up a server that does not answer, and idle connections to it, after the read timeout', async () => {
      const { options } = database();
      let swallow = false;
      const proxy = await startMysqlProxy(options, () => (swallow ? 'hold' : 'pass'));
      const pool = openPool({ ...options, host: proxy.host, port: proxy.port, readTimeoutMs: 300 }, systemClock);
      const ask = (): Promise<unknown> =>
        pool.transaction(async (session) => (await session.query('SELECT CONNECTION_ID()'))[0]?.[0]);
      const ids = await Promise.all([ask(), ask(), ask()]);
      swallow = true;
      await assert.rejects(ask(), { code: 'STORAGE_UNAVAILABLE' });
      swallow = false;
      assert.ok(!ids.includes(await ask()));
      await proxy.close();
    });

    it('end a read at the server when it takes longer than its caller waits, and go on', async () => {
      const { options } = database();
      const pool = openPool({ ...options, maxOpenConns: 1, readTimeoutMs: 4000 }, systemClock);
      const before = await connectionId(pool);
      const digits = Array.from({ length: 12 }, (_, place) => `digits AS d${place}`).join(', ');
      const sql = `WITH RECURSIVE digits AS (SELECT 0 AS d UNION ALL SELECT d + 1 FROM digits WHERE d < 9) SELECT COUNT(*) FROM ${digits}`;
      const endless = pool.read((session) => session.query(sql));
      await assert.rejects(endless, { code: 'STORAGE_UNAVAILABLE', message: /3024|1969/ });
      assert.equal(await connectionId(pool), before);
    });

    it('wait for the locks of others no longer than they are told to', async () => {
      const { options } = database();
      const pool = openPool({ ...options, lockTimeoutMs: 1000 }, systemClock);
      await database().storage.upsert(aModelRow({ uid: 'locked' }));
      const lock = "SELECT uid FROM model WHERE uid = 'locked' FOR UPDATE";
      await pool.transaction(async (holder) => {
        await holder.query(lock);
        await assert.rejects(
          pool.transaction((other) => other.query(lock)),
          { code: 'STORAGE_CONTENTION' },
        );
      });
    });

    it('need no right but SELECT, INSERT, UPDATE and DELETE', async () => {
      const { options } = await withUser('least');
      const storage = new MysqlMetadataStorage(options, systemClock);
      await storage.check([modelKind]);
      const row = aModelRow({ uid: 'least', labels: { a: 'b' } });
      assert.equal(await storage.upsert(row), 'inserted');
      await storage.closeGate('someone', 'a test');
      await storage.openGate('someone');
      const finish = () => storage.finish({ ...row, resourceVersion: '11' }, new Date());
      assert.equal(await despiteGateMoved(finish), 'updated');
      await storage.close();
      const pool = openPool(options, systemClock);
      await assert.rejects(
        pool.read((session) => session.execute('DROP TABLE model')),
        { code: 'STORAGE_PERMISSION' },
      );
    });
  });
}
