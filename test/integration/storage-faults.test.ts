// What is left in the database when the server, or the way to it, breaks while objects are written.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startTcpProxy } from '../../hack/local/tcp-proxy.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { CodedError } from '../../src/base/errors.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { isOutage } from '../../src/sync/flows/outage-policy.ts';
import { useDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/** Writes version after version of its own object, each until it is taken, as the controller does. */
async function persistentWriter(storage: MetadataStorage, uid: string, versions: number): Promise<void> {
  for (const version of numbers(versions)) {
    const row = rowOf(uid, version + 1);
    await eventually(async () => {
      const error = await storage.upsert(row).then(
        () => undefined,
        (reason: unknown) => reason as CodedError,
      );
      if (error === undefined) return;
      assert.equal(error.code, 'STORAGE_UNAVAILABLE');
      throw error;
    });
  }
}

function rowOf(uid: string, version: number): ObjectRow {
  const labels = { version: String(version), [`only-${version % 3}`]: '' };
  return aModelRow({ uid, name: uid, resourceVersion: String(version), labels }, { revisionId: version });
}

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`writes to a ${flavour} that breaks`, () => {
    const database = useDatabase(flavour);

    const proveComplete = async (prefix: string, objects: number, versions: number): Promise<void> => {
      for (const index of numbers(objects)) {
        const stored = await database().storage.getById(modelKind, `${prefix}-${index}`);
        const expected = rowOf(`${prefix}-${index}`, versions);
        assert.equal(stored?.resourceVersion, expected.resourceVersion);
        assert.deepEqual({ ...stored.labels }, Object.fromEntries(expected.labels));
        assert.deepEqual(JSON.parse(stored.json), JSON.parse(expected.json));
      }
    };

    it('that the program gets wrong fail alone, say where, and are no outage', async () => {
      const { storage } = database();
      const wrong = { ...rowOf('wrong', 1), generation: undefined as unknown as number };
      const writes = numbers(20).map((index) => storage.upsert(index === 7 ? wrong : rowOf(`right-${index}`, 1)));
      const settled = await Promise.allSettled(writes);
      const failed = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as CodedError] : []));
      assert.deepEqual(
        failed.map((error) => [error.code, error.retry, isOutage(error)]),
        [['STORAGE_PROGRAM_ERROR', 'yes', false]],
      );
      assert.match(failed[0]?.message ?? '', /TypeError at /);
      assert.equal(await storage.upsert(rowOf('right-7', 1)), 'inserted');
    });

    it('are complete after kill -9 and a restart', async () => {
      const { server, storage } = database();
      const writers = numbers(20).map((index) => persistentWriter(storage, `killed-${index}`, 30));
      await delay(100);
      await server.kill();
      await server.start();
      await Promise.all(writers);
      await proveComplete('killed', 20, 30);
    });

    it('converge when the connection breaks, also between a commit and its answer', async () => {
      const { server, options } = database();
      const proxy = await startTcpProxy(server);
      const storage = new MysqlMetadataStorage({ ...options, host: proxy.host, port: proxy.port }, systemClock);
      const writers = numbers(20).map((index) => persistentWriter(storage, `cut-${index}`, 40));
      for (const pause of numbers(8)) {
        await delay(20 + pause * 7);
        await proxy.cut();
        await proxy.heal();
      }
      await Promise.all(writers);
      await proveComplete('cut', 20, 40);
      await storage.close();
      await proxy.close();
    });

    it('are refused while the server is read-only, and go on afterwards', async () => {
      const { storage, database: bundle } = database();
      await bundle.query('SET GLOBAL read_only = ON');
      await assert.rejects(storage.upsert(aModelRow({ uid: 'read-only' })), { code: 'STORAGE_UNAVAILABLE' });
      await bundle.query('SET GLOBAL read_only = OFF');
      assert.equal(await storage.upsert(aModelRow({ uid: 'read-only' })), 'inserted');
    });
  });
}
