// New database credentials while programs write: there is no moment in which a write fails.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createConnection } from 'mysql2/promise';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { eventually } from '../support/eventually.ts';
import { migrateAll } from '../support/migrations.ts';
import { aModelRow } from '../support/objects.ts';
import { databaseEnv, runTask } from '../support/run-task.ts';

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`credentials on ${flavour}`, () => {
    let server: DatabaseServer;
    let database: BundleDatabase;
    let options: MysqlOptions;
    let directory: string;
    const ends: (() => Promise<void>)[] = [];
    const file = (name: string): string => join(directory, name);

    before(async () => {
      server = await startDatabase({ flavour });
      database = await createBundleDatabase(server);
      const pool = { maxOpenConns: 4, maxIdleConns: 4, connMaxLifetimeMs: 200 };
      options = { host: server.host, port: server.port, ...database.writer, database: database.name, ...pool };
      await migrateAll({ ...options, ...database.migrator });
      directory = mkdtempSync(join(tmpdir(), 'credentials-'));
      writeFileSync(file('admin'), server.rootPassword);
      writeFileSync(file('next'), 'the-next-password\n');
    });
    after(async () => {
      for (const end of ends) await end();
      rmSync(directory, { recursive: true });
      await server.dispose();
    });

    const rotate = (changes: Readonly<Record<string, string>>, ...args: readonly string[]) =>
      runTask(['task', 'rotate', ...args], {
        ...databaseEnv(options),
        INGESTER_ROTATION_PASSWORD_FILE: file('next'),
        INGESTER_ROTATION_ADMIN_USER: server.rootUser,
        INGESTER_ROTATION_ADMIN_PASSWORD_FILE: file('admin'),
        ...changes,
      });
    const logsIn = async (user: string, password: string): Promise<boolean> => {
      const attempt = createConnection({ host: server.host, port: server.port, user, password });
      const connection = await attempt.catch(() => undefined);
      connection?.destroy();
      return connection !== undefined;
    };
    /** A connection with a statement under way that has bytes in it which are no text. */
    const sendsBytes = async (user: string, password: string): Promise<{ end: () => Promise<void> }> => {
      const access = { host: server.host, port: server.port, user, password, database: database.name };
      const connection = await createConnection(access);
      const slow = "INSERT INTO `model_annotations` SELECT 'u', 'k', ? FROM (SELECT SLEEP(60)) AS `s`";
      const ended = assert.rejects(connection.execute(slow, [Buffer.alloc(64, 0xfe)]));
      const end = async (): Promise<void> => {
        await database.query(`KILL ${connection.threadId}`);
        await ended;
        connection.destroy();
      };
      return { end };
    };
    /** Writes without a pause until it is stopped; each failed write is a failure of the rotation. */
    const writer = (storage: MysqlMetadataStorage, name: string) => {
      const failed: unknown[] = [];
      let [stopped, count] = [false, 0];
      const loop = (async () => {
        while (!stopped) {
          count += 1;
          const row = aModelRow({ uid: `uid-${name}`, name, resourceVersion: String(count) });
          await storage.upsert(row).catch((error: unknown) => failed.push(error));
        }
      })();
      const more = async (): Promise<void> => {
        const from = count;
        await eventually(() => assert.ok(count > from + 20));
      };
      const end = async (): Promise<void> => {
        if (stopped) return;
        stopped = true;
        await loop;
        await storage.close();
      };
      ends.push(end);
      const stop = async (): Promise<void> => {
        await end();
        assert.deepEqual(failed, []);
      };
      return { more, stop };
    };

    if (flavour === 'mysql') {
      it('change by a second password of the same user, under load, without a failed write', async () => {
        const { user, password } = database.writer;
        writeFileSync(file('password'), password);
        let current = password;
        const writing = writer(new MysqlMetadataStorage({ ...options, password: () => current }, systemClock), 'dual');
        await writing.more();
        const early = await rotate({}, '--finish');
        assert.equal(early.code, 2, 'the old password is in use');
        const added = await rotate({});
        assert.equal(added.code, 0, added.stderr);
        assert.deepEqual([added.result['outcome'], added.result['credentials']], ['rotated', 'added']);
        assert.deepEqual([await logsIn(user, password), await logsIn(user, 'the-next-password')], [true, true]);
        assert.equal((await rotate({})).result['credentials'], 'present', 'running it again changes nothing');
        await writing.more();
        current = 'the-next-password';
        await writing.more();
        const finished = await rotate({ INGESTER_MYSQL_PASSWORD: 'the-next-password' }, '--finish');
        assert.equal(finished.code, 0, finished.stderr);
        assert.equal(finished.result['credentials'], 'ended');
        assert.deepEqual([await logsIn(user, password), await logsIn(user, 'the-next-password')], [false, true]);
        await writing.more();
        await writing.stop();
        assert.doesNotMatch(added.stdout + added.stderr + finished.stdout + finished.stderr, /the-next-password/);
        await database.query(`ALTER USER '${user}'@'%' IDENTIFIED BY '${password}'`);
      });
    } else {
      it('say that the server keeps one password for a user, and what to do', async () => {
        const ran = await rotate({});
        assert.equal(ran.code, 1);
        assert.match(ran.stderr, /one password for a user\. Give another user as rotation\.user.*\[ROTATION_REFUSED\]/);
      });
    }

    it('change by a second user with the same rights, under load, without a failed write', async () => {
      const { user, password } = database.writer;
      const next = { user: `${user}_b`, password: 'the-next-password' };
      const first = writer(new MysqlMetadataStorage(options, systemClock), 'old-user');
      await first.more();
      const added = await rotate({ INGESTER_ROTATION_USER: next.user });
      assert.equal(added.code, 0, added.stderr);
      assert.equal(added.result['credentials'], 'added');
      assert.equal((await rotate({ INGESTER_ROTATION_USER: next.user })).result['credentials'], 'present');
      const second = writer(new MysqlMetadataStorage({ ...options, ...next }, systemClock), 'new-user');
      await Promise.all([first.more(), second.more()]);
      const finish = {
        INGESTER_MYSQL_USER: next.user,
        INGESTER_MYSQL_PASSWORD: next.password,
        INGESTER_ROTATION_PREVIOUS_USER: user,
      };
      const busy = await sendsBytes(user, password);
      const early = await rotate({ ...finish, INGESTER_ROTATION_USER: next.user }, '--finish');
      await busy.end();
      assert.match(early.stderr, /still has \d+ connections/);
      await Promise.all([first.more(), second.more()]);
      await first.stop();
      await eventually(async () => {
        const finished = await rotate({ ...finish, INGESTER_ROTATION_USER: next.user }, '--finish');
        assert.equal(finished.code, 0, finished.stderr);
        assert.equal(finished.result['credentials'], 'ended');
      });
      assert.deepEqual([await logsIn(user, password), await logsIn(next.user, next.password)], [false, true]);
      const again = await rotate({ ...finish, INGESTER_ROTATION_USER: next.user }, '--finish');
      assert.equal(again.result['credentials'], 'absent');
      await second.more();
      await second.stop();
    });
  });
}
