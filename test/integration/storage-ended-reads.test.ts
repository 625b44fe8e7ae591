// A read whose reader has gone ends at the server too, on both servers, and the connection is good for the next one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConnection } from 'mysql2/promise';
import { systemClock } from '../../src/base/clock.ts';
import { ReadEndedError } from '../../src/storage/errors.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { useDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { modelKind } from '../support/objects.ts';

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`a read on ${flavour} whose signal is aborted`, () => {
    const database = useDatabase(flavour);

    const connections = async (): Promise<ReadonlyMap<string, string>> => {
      const rows = await database().database.query(
        'SELECT id, command FROM information_schema.processlist WHERE user = ?',
        [database().options.user],
      );
      return new Map(rows.map((row) => [String(row['id'] ?? row['ID']), String(row['command'] ?? row['COMMAND'])]));
    };
    const busy = async (): Promise<number> =>
      [...(await connections()).values()].filter((each) => each !== 'Sleep').length;

    it('is ended at the server, and begins nothing more', async () => {
      const { server, options } = database();
      const storage = new MysqlMetadataStorage({ ...options, maxOpenConns: 2, maxIdleConns: 2 }, systemClock);
      const { host, port, rootUser: user, rootPassword: password } = server;
      const lock = await createConnection({ host, port, user, password, database: options.database });
      try {
        await storage.list(modelKind, {});
        const before = await connections();
        await lock.query(`LOCK TABLES \`${modelKind.table}\` WRITE, \`${modelKind.table}_labels\` WRITE`);
        const stop = new AbortController();
        const reads = [
          storage.until(stop.signal).list(modelKind, {}),
          storage.until(stop.signal).getById(modelKind, 'x'),
        ];
        const ended = Promise.allSettled(reads);
        const waiting = storage.list(modelKind, {});
        await eventually(async () => assert.equal(await busy(), 2));
        stop.abort();
        await eventually(async () => assert.equal(await busy(), 1), 5000);
        assert.deepEqual(
          (await ended).map(({ status }) => status),
          ['rejected', 'rejected'],
        );
        await lock.query('UNLOCK TABLES');
        assert.deepEqual((await waiting).items, [], 'the read of another one goes on');
        const kept = [...(await connections()).keys()].filter((id) => before.has(id));
        assert.ok(kept.length > 0, 'the connections are kept');
        await assert.rejects(storage.until(stop.signal).list(modelKind, {}), ReadEndedError);
      } finally {
        await lock.end();
        await storage.close();
      }
    });
  });
}
