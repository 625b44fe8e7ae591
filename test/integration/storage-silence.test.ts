// Connections that stay open and say nothing more, at every step at which a server can fall silent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startTcpProxy } from '../../hack/local/tcp-proxy.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Watchdog } from '../../src/base/watchdog.ts';
import { MysqlPool } from '../../src/storage/mysql/pool.ts';
import { ASK_SERVER } from '../../src/storage/mysql/session-setup.ts';
import { MysqlMetadataStorage, WRITE_WORK } from '../../src/storage/mysql/store/mysql-storage.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { type TestDatabase, useDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { startMysqlProxy, type Verdict } from '../support/mysql-proxy.ts';
import { aModelRow, modelKind } from '../support/objects.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const LIMIT_MS = 400;
/** As many as the storage writes on at the same time. */
const LANES = 3;

const steps = ['handshake', 'session setup', 'begin', 'prepare', 'execute', 'commit', 'rollback'] as const;
type Step = (typeof steps)[number];

const stepOfStatement = new Map<string, Step>([
  ['START TRANSACTION', 'begin'],
  ['COMMIT', 'commit'],
  ['ROLLBACK', 'rollback'],
  [ASK_SERVER, 'session setup'],
]);

interface SilentServer {
  readonly storage: MysqlMetadataStorage;
  /** By the watchdog. */
  readonly oldestWriteMs: () => number;
  /** From now on this many connections fall silent when they come to the step. */
  silence(step: Step, connections: number): void;
  readonly silenced: () => number;
  close(): Promise<void>;
}

async function silentServer({ options }: TestDatabase): Promise<SilentServer> {
  let at: Step | undefined;
  let left = 0;
  let silenced = 0;
  const verdictAt = (step: Step | undefined): Verdict => {
    if (step === undefined || step !== at || left === 0) return 'pass';
    left -= 1;
    silenced += 1;
    return 'hold';
  };
  const proxy = await startMysqlProxy(options, (sql) => verdictAt(stepOfStatement.get(sql)), verdictAt);
  const short = { connectTimeoutMs: LIMIT_MS, readTimeoutMs: LIMIT_MS, host: proxy.host, port: proxy.port };
  const watchdog = new Watchdog({ clock: systemClock, logger: new RecordingLogger() });
  const storage = new MysqlMetadataStorage({ ...options, ...short }, systemClock, undefined, { watchdog });
  return {
    storage,
    oldestWriteMs: () => (watchdog.silentSeconds().get(WRITE_WORK) ?? 0) * 1000,
    silence: (step, connections) => {
      at = step;
      left = connections;
    },
    silenced: () => silenced,
    close: () => proxy.close(),
  };
}

const row = (uid: string, version = 1): ObjectRow => aModelRow({ uid, name: uid, resourceVersion: String(version) });

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`a ${flavour} that falls silent`, () => {
    const database = useDatabase(flavour);

    for (const step of steps) {
      it(`during ${step} on as many connections as are written on costs no write and is given up in time`, async (test) => {
        const server = await silentServer(database());
        test.after(async () => {
          await server.storage.close();
          await server.close();
        });
        server.silence(step, LANES);
        const prefix = `silent-${step.replace(' ', '-')}`;
        const uids = Array.from({ length: LANES }, (_, index) => `${prefix}-${index}`);
        if (step === 'rollback') await refusedWrites(server.storage, uids);
        for (const uid of uids) {
          await eventually(() => server.storage.upsert(row(uid)), 20_000);
          assert.equal((await database().storage.getById(modelKind, uid))?.resourceVersion, '1');
        }
        assert.equal(server.silenced(), LANES);
        assert.equal(server.oldestWriteMs(), 0);
      });
    }

    it('shows in the age of the oldest write for as long as it lasts', async () => {
      const server = await silentServer(database());
      server.silence('prepare', 1);
      const write = server.storage.upsert(row('aging'));
      await eventually(() => assert.ok(server.oldestWriteMs() > LIMIT_MS / 2), 10_000);
      await write;
      assert.equal(server.oldestWriteMs(), 0);
      await server.storage.close();
      await server.close();
    });

    it('that the network lost inside a transaction keeps its rows from others for seconds, not for hours', async () => {
      const { storage, options } = database();
      await storage.upsert(row('locked'));
      const network = await startTcpProxy(options);
      const pool = new MysqlPool({ ...options, ...network, readTimeoutMs: LIMIT_MS }, systemClock);
      const lost = pool.transaction(async (session) => {
        await session.execute(`UPDATE \`${modelKind.table}\` SET \`name\` = 'half' WHERE \`uid\` = 'locked'`);
        network.strand();
        await session.query('SELECT 1');
      });
      await assert.rejects(lost, { code: 'STORAGE_UNAVAILABLE' });
      await eventually(() => storage.upsert(row('locked', 2)), 30_000);
      assert.equal((await storage.getById(modelKind, 'locked'))?.name, 'locked');
      await pool.close();
      await network.close();
    });

    it('does not keep a storage from closing while writes and reads are under way', async () => {
      const server = await silentServer(database());
      await server.storage.upsert(row('before'));
      server.silence('execute', Number.MAX_SAFE_INTEGER);
      const calls = [server.storage.upsert(row('closing')), server.storage.getById(modelKind, 'before')];
      const codes = calls.map((call) => call.then(String, (error: unknown) => (error as { code: string }).code));
      await eventually(() => assert.ok(server.silenced() > 0));
      await server.storage.close();
      assert.deepEqual(await Promise.all(codes), ['STORAGE_UNAVAILABLE', 'STORAGE_UNAVAILABLE']);
      await server.close();
    });
  });
}

/** Rows that the server refuses, so that it is asked to roll back. */
async function refusedWrites(storage: MysqlMetadataStorage, uids: readonly string[]): Promise<void> {
  const refused = (uid: string): Promise<unknown> =>
    storage.upsert({ ...row(uid), json: 'no json' }).catch(() => undefined);
  await Promise.all(uids.map(refused));
  for (const uid of uids) await refused(uid);
}
