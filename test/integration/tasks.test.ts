// What every task promises, on a real server: one attempt at a time, the newest; a result for operators and programs.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { systemClock } from '../../src/base/clock.ts';
import { passGate } from '../../src/storage/mysql/gate.ts';
import { type MysqlOptions, MysqlPool } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { attemptOf, type Exclusive, exclusively, type Finished } from '../../src/storage/mysql/tasks/exclusive-task.ts';
import { eventually } from '../support/eventually.ts';
import { migrateAll } from '../support/migrations.ts';
import { databaseEnv, runTask } from '../support/run-task.ts';

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`tasks on ${flavour}`, () => {
    let server: DatabaseServer;
    let database: BundleDatabase;
    let options: MysqlOptions;
    before(async () => {
      server = await startDatabase({ flavour });
      database = await createBundleDatabase(server);
      const pool = { maxOpenConns: 3, maxIdleConns: 3, connMaxLifetimeMs: 0 };
      options = { host: server.host, port: server.port, ...database.migrator, database: database.name, ...pool };
      await migrateAll(options);
    });
    after(() => server.dispose());

    const run = <T extends object>(
      attempt: string | undefined,
      work: (exclusive: Exclusive) => Promise<T>,
      task = 'test',
    ): Promise<Finished<T>> => exclusively({ access: options, ...attemptOf(task, attempt), tables: 'require' }, work);
    const done = (): Promise<object> => Promise.resolve({ rows: 1 });
    const stateOf = async (attempt: string): Promise<unknown> =>
      (await database.query('SELECT state, message FROM ingester_attempts WHERE attempt = ?', [attempt]))[0];

    it('of which one is complete answer with the same result when they are started again, and do nothing', async () => {
      assert.deepEqual(await run('done-1', done), { result: { rows: 1 }, completed: 'now' });
      const again = await run('done-1', () => assert.fail('was run twice'));
      assert.deepEqual(again, { result: { rows: 1 }, completed: 'before' });
    });

    it('that a newer attempt took the place of are refused before they begin', async () => {
      await run('order-2', done);
      for (const [attempt, task] of [
        ['order-1', 'test'],
        ['order-1', 'another'],
      ] as const) {
        await assert.rejects(
          run(attempt, () => assert.fail('began'), task),
          { code: 'TASK_SUPERSEDED' },
        );
      }
      await run('elsewhere', done);
      await assert.rejects(
        run('order-2', () => assert.fail('began')),
        /elsewhere at test took its place/,
      );
    });

    it('cannot write, finish or commit once a newer attempt began, however far they are', async () => {
      const pool = new MysqlPool(options, systemClock);
      const wrote: string[] = [];
      let go = (): void => undefined;
      const replaced = new Promise<void>((resolve) => (go = resolve));
      const old = run('fence-1', async ({ pass }) => {
        const write = (what: string): Promise<void> =>
          pool.transaction(async (session) => {
            await pass(session);
            wrote.push(what);
          });
        await write('before');
        await replaced;
        await assert.rejects(write('after'), { code: 'TASK_SUPERSEDED' });
        return {};
      });
      await eventually(() => assert.deepEqual(wrote, ['before']));
      // The lock is still held by the attempt before; the newer one fences it off first, and then waits for it to end.
      const newer = run('fence-2', done);
      await eventually(async () =>
        assert.deepEqual({ ...((await stateOf('fence-1')) as object) }, { state: 'superseded', message: null }),
      );
      go();
      await assert.rejects(old, { code: 'TASK_SUPERSEDED' });
      assert.equal((await newer).completed, 'now');
      assert.deepEqual(wrote, ['before']);
      await pool.close();
    });

    it('wait for a transaction of the attempt before, so that it is committed whole or not at all', async () => {
      const pool = new MysqlPool(options, systemClock);
      const order: string[] = [];
      let commit = (): void => undefined;
      const mayCommit = new Promise<void>((resolve) => (commit = resolve));
      const old = run('commit-1', async ({ pass }) => {
        await pool.transaction(async (session) => {
          await pass(session);
          order.push('passed');
          await mayCommit;
          order.push('committed');
        });
        return {};
      });
      await eventually(() => assert.deepEqual(order, ['passed']));
      const newer = run('commit-2', () => {
        order.push('newer');
        return Promise.resolve({});
      });
      await eventually(async () => {
        const waiting = await database.query(
          "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
        );
        assert.equal(waiting.length, 1);
      });
      commit();
      await Promise.allSettled([old]);
      await newer;
      assert.deepEqual(order, ['passed', 'committed', 'newer']);
      await pool.close();
    });

    it('that an operator starts wait for the task that runs, and never replace it', async () => {
      const order: string[] = [];
      let finish = (): void => undefined;
      const mayFinish = new Promise<void>((resolve) => (finish = resolve));
      const first = run('lock-1', async () => {
        order.push('first begins');
        await mayFinish;
        order.push('first ends');
        return {};
      });
      await eventually(() => assert.deepEqual(order, ['first begins']));
      const second = run(undefined, () => {
        order.push('second');
        return Promise.resolve({});
      });
      finish();
      await Promise.all([first, second]);
      assert.deepEqual(order, ['first begins', 'first ends', 'second']);
    });

    it('are forgotten when there are many newer ones, but for the highest number that was counted', async () => {
      for (const number of [1, 2, 3]) await run(`counted-${number}`, done);
      const values = Array.from(
        { length: 250 },
        (_, index) =>
          `('test', 'old-${index}-x', 'old-${index}-x', 'complete', '2020-01-01 00:00:00' + INTERVAL ${index} SECOND)`,
      );
      const columns = '(task, attempt, prefix, state, started_at)';
      await database.query("UPDATE ingester_attempts SET started_at = '2019-01-01'");
      await database.query(`INSERT INTO ingester_attempts ${columns} VALUES ${values.join(', ')}`);
      await run('now', done);
      const left = await database.query("SELECT attempt FROM ingester_attempts WHERE attempt LIKE 'counted-%'");
      assert.deepEqual(left, [{ attempt: 'counted-3' }]);
      const [old] = await database.query("SELECT COUNT(*) AS n FROM ingester_attempts WHERE attempt LIKE 'old-%'");
      assert.equal(Number(old?.['n']), 199);
      await assert.rejects(run('counted-2', done), { code: 'TASK_SUPERSEDED' });
    });

    it('that fail leave the reason, without secrets, and may be tried again under the same name', async () => {
      const failing = run('fail-1', () => Promise.reject(new RangeError('password=hunter2 is wrong')));
      await assert.rejects(failing);
      assert.deepEqual({ ...((await stateOf('fail-1')) as object) }, { state: 'failed', message: 'password= ***' });
      assert.equal((await run('fail-1', done)).completed, 'now');
    });
  });
}

describe('the commands of tasks', () => {
  let server: DatabaseServer;
  let database: BundleDatabase;
  let env: Record<string, string>;
  let options: MysqlOptions;
  before(async () => {
    server = await startDatabase();
    database = await createBundleDatabase(server);
    const pool = { maxOpenConns: 3, maxIdleConns: 3, connMaxLifetimeMs: 0 };
    options = { host: server.host, port: server.port, ...database.migrator, database: database.name, ...pool };
    env = databaseEnv(options);
  });
  after(() => server.dispose());

  it('end with one JSON line, which is the termination message too, and exit code 0', async () => {
    const ran = await runTask(['task', 'migrate', '--attempt', 'prod/migrate-2'], env);
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal(ran.result['task'], 'migrate');
    assert.equal(ran.result['outcome'], 'migrated');
    assert.match(ran.stdout, /^Applied: 0001-tables/);
    assert.match(ran.stderr, /applying 0001-tables/);
    assert.deepEqual(JSON.parse(ran.termination), ran.result);
    const json = await runTask(['task', 'migrate', '-o', 'json'], env);
    assert.equal(json.stdout.trim().split('\n').length, 1);
    assert.equal(json.result['outcome'], 'unchanged');
  });

  it('refuse an attempt that is out of date, with exit code 1 and the reason as termination message', async () => {
    const ran = await runTask(['task', 'migrate', '--attempt', 'prod/migrate-1'], env);
    assert.equal(ran.code, 1);
    assert.equal(ran.result['outcome'], 'failed');
    assert.equal(ran.result['code'], 'TASK_SUPERSEDED');
    assert.match(ran.termination, /prod\/migrate-1 at migrate is out of date.*\[TASK_SUPERSEDED\]$/);
    assert.ok(ran.stderr.includes(ran.termination));
  });

  it('say with exit code 2 what is wrong in the configuration or on the command line', async () => {
    const off = await runTask(['task', 'migrate'], {});
    assert.equal(off.code, 2);
    assert.equal(off.result['code'], 'CONFIGURATION_INVALID');
    assert.match(off.termination, /enableMetadataStorage/);
    const option = await runTask(['task', 'migrate', '--attmpt', 'x'], env);
    assert.equal(option.code, 2);
    assert.match(option.termination, /unknown option '--attmpt'/);
    assert.equal((await runTask(['task', 'migrate', '--attempt', 'no spaces'], env)).code, 2);
  });

  it('leave a gate alone that was closed for them, and refuse a gate that another process closed', async () => {
    const storage = new MysqlMetadataStorage(options, systemClock);
    await storage.closeGate('lifecycle of prod', 'upgrade');
    const refused = await runTask(['task', 'migrate'], env);
    assert.equal(refused.result['code'], 'STORAGE_GATE_HELD');
    const lent = await runTask(['task', 'migrate', '--gate-holder', 'lifecycle of prod'], env);
    assert.equal(lent.code, 0, lent.stderr);
    const [gate] = await database.query('SELECT closed_by FROM ingester_gate');
    assert.equal(gate?.['closed_by'], 'lifecycle of prod');
    await storage.openGate('lifecycle of prod');
    await storage.close();
  });

  it('close the gate for an operator, name the connections that keep it open, and open it again under the same name', async () => {
    const gate = async (...args: readonly string[]) => {
      const ran = await runTask(['gate', ...args, '-o', 'json'], env);
      return { ...ran, state: ran.result };
    };
    assert.equal((await gate('show')).state['state'], 'open');
    const writer = new MysqlPool(options, systemClock);
    let commit = (): void => undefined;
    const mayCommit = new Promise<void>((resolve) => (commit = resolve));
    const write = writer.transaction(async (session) => {
      await passGate(session, {});
      await mayCommit;
    });
    // With bytes that are no text: what is told of the connections must not depend on what they send.
    const slow = "INSERT INTO `model_annotations` SELECT 'u', 'k', ? FROM (SELECT SLEEP(8)) AS `s`";
    const refused = assert.rejects(writer.transaction((session) => session.execute(slow, [Buffer.alloc(64, 0xfe)])));
    const busy = await gate('close', '--timeout', '1s');
    assert.equal(busy.code, 1);
    assert.match(busy.stderr, /not be closed within \d+ s: this user sees 2 other connections.*\[STORAGE_GATE_BUSY\]/);
    assert.equal((await gate('show')).state['state'], 'open');
    const closing = gate('close', '--reason', 'a look at the rows', '--timeout', '60s');
    commit();
    await write;
    const closed = await closing;
    assert.deepEqual(
      [closed.state['state'], closed.state['holder'], closed.state['reason']],
      ['closed', 'ingester gate', 'a look at the rows'],
    );
    await assert.rejects(
      writer.transaction((session) => passGate(session, {})),
      { code: 'STORAGE_GATE_CLOSED' },
    );
    assert.match(
      (await runTask(['gate', 'show'], env)).stdout,
      /^Closed by ingester gate since 20.*: a look at the rows/,
    );
    assert.match((await gate('open', '--holder', 'me')).stderr, /STORAGE_GATE_HELD/);
    assert.equal((await gate('open')).state['state'], 'open');
    await writer.transaction((session) => passGate(session, {}));
    await refused;
    await writer.close();
  });

  it('create a missing database where the configuration asks for it, and leave an existing database alone', async () => {
    const name = `${database.name}_later`;
    const { user } = database.migrator;
    await database.query(`GRANT ALL PRIVILEGES ON \`${name}\`.* TO '${user}'@'%'`);
    const later = { ...env, INGESTER_MYSQL_DATABASE: name };
    const missing = await runTask(['task', 'migrate'], later);
    assert.equal(missing.result['code'], 'STORAGE_DATABASE_MISSING');
    const made = await runTask(['task', 'migrate', '--create-database'], later);
    assert.equal(made.result['outcome'], 'migrated', made.stderr);
    assert.match(made.stderr, /was missing, and is there now/);
    await database.query(`REVOKE CREATE ON \`${name}\`.* FROM '${user}'@'%'`);
    const again = await runTask(['task', 'migrate', '--create-database'], later);
    assert.equal(again.result['outcome'], 'unchanged', again.stderr);
    await database.query(`DROP DATABASE \`${name}\``);
  });

  it('say with exit code 3 that the database is of a newer version', async () => {
    await database.query('UPDATE ingester_gate SET schema_version = 9999, min_reader = 9999, min_writer = 9999');
    const ran = await runTask(['task', 'migrate'], env);
    assert.equal(ran.code, 3);
    assert.equal(ran.result['code'], 'SCHEMA_NEWER');
  });
});
