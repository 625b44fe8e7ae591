// What a writer may still write after another process has closed the gate, changed rows, and opened it again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { useDatabase } from '../support/databases.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`the writer gate on ${flavour}`, () => {
    const database = useDatabase(flavour);
    const lost = aModelRow({ uid: 'lost', resourceVersion: '200' });
    const restored = aModelRow({ uid: 'lost', resourceVersion: '100' });

    /** A writer that has stored a state which is then set back by another process. */
    const withWriter = async (work: (writer: MysqlMetadataStorage, told: () => number) => Promise<void>) => {
      let told = 0;
      const observers = { onGateClosed: () => (told += 1) };
      const writer = new MysqlMetadataStorage(database().options, systemClock, undefined, observers);
      try {
        await writer.check([modelKind]);
        await writer.upsert(lost);
        await work(writer, () => told);
      } finally {
        await writer.close();
      }
    };
    const setBack = async () => {
      const task = new MysqlMetadataStorage({ ...database().options, gateHolder: 'a task' }, systemClock);
      await task.closeGate('a task', 'rows are set back');
      assert.equal(await task.replace(restored, '200', { state: 'live' }), 'updated');
      await task.openGate('a task');
      await task.close();
    };
    const version = async () => (await database().storage.getById(modelKind, 'lost'))?.resourceVersion;

    it('refuses one write of a process that did not see it closed, and takes the next', () =>
      withWriter(async (writer, told) => {
        await setBack();
        await assert.rejects(writer.upsert(lost), { code: 'STORAGE_GATE_MOVED' });
        assert.deepEqual([await version(), told()], ['100', 1]);
        assert.equal(await writer.upsert(aModelRow({ uid: 'lost', resourceVersion: '101' })), 'updated');
        assert.equal(told(), 1);
      }));

    it('refuses every write that was asked for before the process learned of it', () =>
      withWriter(async (writer) => {
        await setBack();
        const others = ['a', 'b'].map((uid) => writer.upsert(aModelRow({ uid })));
        const outcomes = await Promise.allSettled([writer.upsert(lost), ...others]);
        assert.deepEqual(
          outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as { code: string }).code),
          ['STORAGE_GATE_MOVED', 'STORAGE_GATE_MOVED', 'STORAGE_GATE_MOVED'],
        );
        assert.equal(await version(), '100');
      }));

    it('refuses a write of what was read before, also after the process learned of it', () =>
      withWriter(async (writer) => {
        const { gateClosing } = writer;
        assert.ok(gateClosing !== undefined);
        await setBack();
        await writer.check([modelKind]);
        await assert.rejects(writer.finish({ ...lost, gateClosing }, new Date()), { code: 'STORAGE_GATE_MOVED' });
        assert.equal(await version(), '100');
      }));

    it('refuses a write of a process that had never reached the database before it was closed, and takes the next', async () => {
      await withWriter(async () => {
        let told = 0;
        const late = new MysqlMetadataStorage(database().options, systemClock, undefined, {
          onGateClosed: () => (told += 1),
        });
        try {
          await setBack();
          await assert.rejects(late.upsert(lost), { code: 'STORAGE_GATE_MOVED' });
          assert.deepEqual([await version(), told], ['100', 1]);
          assert.equal(await late.upsert(aModelRow({ uid: 'lost', resourceVersion: '101' })), 'updated');
          assert.equal(told, 1);
        } finally {
          await late.close();
        }
      });
    });

    it('takes the first write of a process that began after it was opened', async () => {
      await withWriter(setBack);
      let told = 0;
      const later = new MysqlMetadataStorage(database().options, systemClock, undefined, {
        onGateClosed: () => (told += 1),
      });
      try {
        assert.equal(await later.upsert(aModelRow({ uid: 'lost', resourceVersion: '101' })), 'updated');
        assert.equal(told, 0);
      } finally {
        await later.close();
      }
    });

    it('is noticed by a check of the schema as well', () =>
      withWriter(async (writer, told) => {
        await setBack();
        await writer.check([modelKind]);
        assert.equal(told(), 1);
      }));
  });
}
