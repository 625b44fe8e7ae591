// A failover to a replica that was behind loses what the server before had confirmed; that is noticed and told.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnection } from 'mysql2/promise';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { systemClock } from '../../src/base/clock.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { StorageHistory } from '../../src/sync/status/storage-history.ts';
import { useDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { migrateAll } from '../support/migrations.ts';
import { type MysqlProxy, startMysqlProxy } from '../support/mysql-proxy.ts';
import { aModelRow, modelKind } from '../support/objects.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

async function administer(server: DatabaseServer, ...statements: readonly string[]): Promise<unknown> {
  const { host, port, rootUser: user, rootPassword: password } = server;
  const connection = await createConnection({ host, port, user, password });
  try {
    let rows: unknown;
    for (const statement of statements) [rows] = await connection.query(statement);
    return rows;
  } finally {
    connection.destroy();
  }
}

function semiSync(server: DatabaseServer, role: 'source' | 'replica'): Promise<unknown> {
  const plugin = `INSTALL PLUGIN rpl_semi_sync_${role} SONAME 'semisync_${role}.so'`;
  return administer(server, plugin, `SET GLOBAL rpl_semi_sync_${role}_enabled = ON`);
}

describe('a failover to a replica that was behind', () => {
  let primary: DatabaseServer;
  let replica: DatabaseServer;
  let database: BundleDatabase;
  let proxy: MysqlProxy;
  let storage: MysqlMetadataStorage;
  let told = 0;
  const target = { host: '127.0.0.1', port: 0 };
  const logger = new RecordingLogger();
  const stop = new AbortController();
  let history: StorageHistory;
  let running: Promise<void>;

  const replicaHas = async (uid: string): Promise<boolean> => {
    const sql = `SELECT 1 FROM \`${database.name}\`.\`model\` WHERE uid = '${uid}'`;
    return ((await administer(replica, sql)) as readonly unknown[]).length === 1;
  };

  before(async () => {
    // Their histories are reset: never those of an external server.
    const own = { env: { ...process.env, INGESTER_MYSQL_URL: '' } };
    [primary, replica] = await Promise.all([startDatabase(own), startDatabase(own)]);
    const { host, port, rootUser, rootPassword } = primary;
    await administer(
      replica,
      'SET GLOBAL server_id = 2',
      'RESET BINARY LOGS AND GTIDS',
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '${host}', SOURCE_PORT = ${port}, SOURCE_USER = '${rootUser}', ` +
        `SOURCE_PASSWORD = '${rootPassword}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1`,
      'START REPLICA',
    );
    database = await createBundleDatabase(primary);
    await migrateAll({ host, port, ...database.migrator, database: database.name });
    target.port = port;
    proxy = await startMysqlProxy(target, () => 'pass');
    const limits = { maxOpenConns: 4, maxIdleConns: 4, connMaxLifetimeMs: 0 };
    const access = { host: proxy.host, port: proxy.port, ...database.writer, database: database.name };
    storage = new MysqlMetadataStorage({ ...access, ...limits }, systemClock);
    const times = { periodMs: 200, settleMs: 1000 };
    const parts = {
      remembered: () => Promise.resolve(undefined),
      onLost: () => (told += 1),
      onWeak: () => undefined,
      clock: systemClock,
      logger,
    };
    history = new StorageHistory({ storage, ...parts, ...times });
    running = history.run(stop.signal);
  });
  after(async () => {
    stop.abort();
    await running;
    await storage.close();
    await proxy.close();
    await Promise.all([primary.dispose(), replica.dispose()]);
  });

  const failOver = (to: DatabaseServer): void => {
    target.port = to.port;
    proxy.drop();
  };

  it('is not reported while the replica has everything', async () => {
    await storage.upsert(aModelRow({ uid: 'kept', resourceVersion: '5' }));
    await eventually(async () => assert.ok(await replicaHas('kept')));
    await eventually(() => assert.notEqual(history.status, undefined));
    const first = history.status?.server;
    failOver(replica);
    await eventually(() => assert.notEqual(history.status?.server, first));
    await new Promise((resolve) => setTimeout(resolve, 3000));
    assert.equal(told, 0);
    assert.equal((await storage.getById(modelKind, 'kept'))?.state, 'live');
    failOver(primary);
    await eventually(() => assert.equal(history.status?.server, first));
  });

  it('is likely, which is shown from the first failover on, until a replica has each transaction before it is confirmed', async (t) => {
    const weak = (): readonly string[] => history.status?.weak ?? ['unknown'];
    await eventually(() => assert.deepEqual(weak(), ['rpl_semi_sync_source_enabled=OFF']));
    try {
      await semiSync(primary, 'source');
    } catch (error) {
      if (!String(error).includes('cannot open shared object file')) throw error;
      t.skip('this MySQL has no plugin for semi-synchronous replication');
      return;
    }
    await semiSync(replica, 'replica');
    await administer(replica, 'STOP REPLICA IO_THREAD', 'START REPLICA IO_THREAD');
    await administer(primary, 'SET GLOBAL rpl_semi_sync_source_timeout = 500');
    await eventually(() => assert.deepEqual(weak(), []));
    // It is fallen back from where no replica answers.
    await administer(replica, 'STOP REPLICA');
    await storage.upsert(aModelRow({ uid: 'kept', resourceVersion: '6' }));
    await eventually(() => assert.deepEqual(weak(), ['rpl_semi_sync_source_status=OFF']));
    await administer(replica, 'START REPLICA');
    await eventually(() => assert.deepEqual(weak(), []));
    await administer(primary, 'SET GLOBAL rpl_semi_sync_source_enabled = OFF');
    await eventually(() => assert.deepEqual(weak(), ['rpl_semi_sync_source_enabled=OFF']));
  });

  it('is reported, with what is missing, even where no check ran between the last write and the failover', async () => {
    await administer(replica, 'STOP REPLICA');
    await storage.upsert(aModelRow({ uid: 'lost', resourceVersion: '6' }));
    failOver(replica);
    await primary.kill();
    await eventually(() => assert.equal(told, 1));
    assert.equal(await replicaHas('lost'), false);
    const { missing = '', from, to } = history.status?.wentBack ?? {};
    assert.match(missing, /^[0-9a-f-]{36}:\d+(-\d+)?$/);
    assert.notEqual(from, to);
    assert.match(logger.messages().join('\n'), /failed over to a replica that was behind/);
  });

  it('is reported once', async () => {
    await new Promise((resolve) => setTimeout(resolve, 3000));
    assert.equal(told, 1);
  });
});

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`the history of ${flavour}`, () => {
    const current = useDatabase(flavour);

    it('is known to a user who may only read and write, and misses what a reset took away', async (t) => {
      const { server, storage } = current();
      if (server.external) {
        t.skip('the server is external');
        return;
      }
      await storage.upsert(aModelRow({ uid: 'first', resourceVersion: '5' }));
      const before = await storage.serverHistory('');
      assert.notEqual(before.known, '');
      assert.equal(before.missing, '');
      assert.equal((await storage.serverHistory(before.known)).missing, '');
      assert.deepEqual(before.weak, []);
      await administer(server, flavour === 'mysql' ? 'RESET BINARY LOGS AND GTIDS' : 'RESET MASTER');
      await storage.upsert(aModelRow({ uid: 'second', resourceVersion: '6' }));
      assert.notEqual((await storage.serverHistory(before.known)).missing, '');
    });

    it('comes with the settings under which a crash loses confirmed writes', async (t) => {
      const { server, storage } = current();
      if (server.external) {
        t.skip('the server is external');
        return;
      }
      await administer(server, 'SET GLOBAL sync_binlog = 0', 'SET GLOBAL innodb_flush_log_at_trx_commit = 2');
      const weak = (await storage.serverHistory('')).weak;
      assert.deepEqual(weak, ['innodb_flush_log_at_trx_commit=2', 'sync_binlog=0']);
    });
  });
}
