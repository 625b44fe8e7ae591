import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalJson } from '../../src/base/json.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

const at = new Date('2026-05-06T07:08:09.123Z');
const atText = '2026-05-06T07:08:09.123000Z';

/** What every MetadataStorage promises. Each case uses uids of its own, so one database serves all of them. */
export function storageContract(name: string, storageFor: () => MetadataStorage): void {
  let counter = 0;
  const fresh = (): { uid: string; name: string } => {
    counter += 1;
    return { uid: `uid-${name}-${counter}`, name: `name-${counter}` };
  };

  describe(`${name} as MetadataStorage`, () => {
    it('inserts, then reports the same state as unchanged', async () => {
      const storage = storageFor();
      const row = aModelRow(fresh());
      assert.equal(await storage.upsert(row), 'inserted');
      assert.equal(await storage.upsert(row), 'unchanged');
    });

    it('takes a higher resourceVersion and refuses a lower one, whatever the order of arrival', async () => {
      const storage = storageFor();
      const id = fresh();
      const versions = ['9', '10', '100', '99'].map((resourceVersion) =>
        aModelRow({ ...id, resourceVersion }, { algorithm: `v${resourceVersion}` }),
      );
      const outcomes = [];
      for (const row of versions) outcomes.push(await storage.upsert(row));
      assert.deepEqual(outcomes, ['inserted', 'updated', 'updated', 'stale']);
      const stored = await storage.getById(modelKind, id.uid);
      assert.equal(stored?.resourceVersion, '100');
      assert.match(stored.json, /v100/);
    });

    it('compares resourceVersions beyond 2^53 exactly', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.upsert(aModelRow({ ...id, resourceVersion: '9007199254740993' }));
      assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion: '9007199254740992' })), 'stale');
      assert.equal((await storage.getById(modelKind, id.uid))?.resourceVersion, '9007199254740993');
    });

    it('returns json, proto, labels and annotations as they were written', async () => {
      const storage = storageFor();
      const labels = { 'a/b': 'Prod', c: '' };
      const annotations = { note: 'pröd 😀 "quoted" \\ back', long: 'x'.repeat(200_000) };
      const row = aModelRow({ ...fresh(), labels, annotations }, { unknownField: { nested: [1, 2.5, null, 'ü'] } });
      await storage.upsert(row);
      const stored = await storage.getById(modelKind, row.uid);
      assert.ok(stored !== undefined);
      assert.equal(canonicalJson(JSON.parse(stored.json)), canonicalJson(JSON.parse(row.json)));
      assert.deepEqual(stored.proto, row.proto);
      assert.deepEqual({ ...stored.labels }, labels);
      assert.deepEqual({ ...stored.annotations }, annotations);
    });

    it('replaces labels and annotations with those of the newer state', async () => {
      const storage = storageFor();
      const id = fresh();
      const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`key-${index}`, `value-${index}`]));
      await storage.upsert(aModelRow({ ...id, resourceVersion: '1', labels: many, annotations: { gone: 'yes' } }));
      await storage.upsert(aModelRow({ ...id, resourceVersion: '2', labels: { 'key-1': 'new' } }));
      const stored = await storage.getById(modelKind, id.uid);
      assert.deepEqual({ ...stored?.labels }, { 'key-1': 'new' });
      assert.deepEqual({ ...stored?.annotations }, {});
    });

    it('keeps the labels of the newer state when an older one arrives late', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.upsert(aModelRow({ ...id, resourceVersion: '2', labels: { state: 'new' } }));
      await storage.upsert(aModelRow({ ...id, resourceVersion: '1', labels: { state: 'old' } }));
      assert.deepEqual({ ...(await storage.getById(modelKind, id.uid))?.labels }, { state: 'new' });
    });

    it('stores label keys of 317 characters and labels that differ in case only', async () => {
      const storage = storageFor();
      const longest = `${'p'.repeat(253)}/${'n'.repeat(63)}`;
      const row = aModelRow({ ...fresh(), labels: { [longest]: 'v'.repeat(63), Key: 'a', key: 'b' } });
      await storage.upsert(row);
      const stored = await storage.getById(modelKind, row.uid);
      assert.deepEqual({ ...stored?.labels }, { [longest]: 'v'.repeat(63), Key: 'a', key: 'b' });
    });

    it('soft-deletes a row with the final state, and a repeat is success', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.upsert(aModelRow({ ...id, resourceVersion: '1' }, { algorithm: 'first' }));
      const last = aModelRow({ ...id, resourceVersion: '2' }, { algorithm: 'last' });
      assert.equal(await storage.finish(last, at), 'updated');
      assert.equal(await storage.finish(last, at), 'unchanged');
      const stored = await storage.getById(modelKind, id.uid);
      assert.equal(stored?.state, 'deleted');
      assert.equal(stored.deleteTime, atText);
      assert.match(stored.json, /last/);
    });

    it('writes a tombstone where the row is missing: deleting an object that was never stored is success', async () => {
      const storage = storageFor();
      const row = aModelRow(fresh());
      assert.equal(await storage.finish(row, at), 'inserted');
      assert.equal((await storage.getById(modelKind, row.uid))?.state, 'deleted');
    });

    it('does not revive a deleted row by a late event, and does by a newer state', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.delete(aModelRow({ ...id, resourceVersion: '5' }), at);
      assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion: '4' })), 'stale');
      assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion: '5' })), 'unchanged');
      assert.equal((await storage.getById(modelKind, id.uid))?.state, 'deleted');
      assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion: '6' })), 'updated');
      const revived = await storage.getById(modelKind, id.uid);
      assert.equal(revived?.state, 'live');
      assert.equal(revived.deleteTime, undefined);
    });

    it('moves a row on at the same resourceVersion: live, evicting, ended', async () => {
      const storage = storageFor();
      const row = aModelRow(fresh());
      await storage.upsert(row);
      assert.equal(await storage.requestEviction(row, at), 'updated');
      assert.equal(await storage.requestEviction(row, at), 'unchanged');
      assert.equal(await storage.upsert(row), 'unchanged');
      assert.equal((await storage.getById(modelKind, row.uid))?.state, 'evicting');
      assert.equal(await storage.finish(row, at), 'updated');
      assert.equal((await storage.getById(modelKind, row.uid))?.state, 'evicted');
    });

    it('ends an object whose eviction was requested as evicted, not deleted, also for later states', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.requestEviction(aModelRow({ ...id, resourceVersion: '5' }), at);
      await storage.finish(aModelRow({ ...id, resourceVersion: '6' }), at);
      await storage.finish(aModelRow({ ...id, resourceVersion: '7' }, { algorithm: 'later' }), at);
      const stored = await storage.getById(modelKind, id.uid);
      assert.equal(stored?.state, 'evicted');
      assert.equal(stored.evictTime, atText);
      assert.equal(stored.deleteTime, undefined);
      assert.match(stored.json, /later/);
    });

    it('lets a user delete an object that was about to be evicted', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.requestEviction(aModelRow({ ...id, resourceVersion: '5' }), at);
      await storage.delete(aModelRow({ ...id, resourceVersion: '6' }), at);
      await storage.finish(aModelRow({ ...id, resourceVersion: '7' }), at);
      assert.equal((await storage.getById(modelKind, id.uid))?.state, 'deleted');
    });

    it('makes a row live again when the wish to evict is taken back in a newer state', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.requestEviction(aModelRow({ ...id, resourceVersion: '5' }), at);
      assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion: '5' })), 'unchanged');
      assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion: '4' })), 'stale');
      assert.equal((await storage.getById(modelKind, id.uid))?.state, 'evicting');
      assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion: '6' })), 'updated');
      assert.equal((await storage.getById(modelKind, id.uid))?.state, 'live');
      await storage.finish(aModelRow({ ...id, resourceVersion: '7' }), at);
      assert.equal((await storage.getById(modelKind, id.uid))?.state, 'deleted');
    });

    it('does not revive an evicted row by a late event', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.requestEviction(aModelRow({ ...id, resourceVersion: '5' }), at);
      await storage.finish(aModelRow({ ...id, resourceVersion: '6' }), at);
      for (const [resourceVersion, outcome] of [
        ['5', 'stale'],
        ['6', 'unchanged'],
      ] as const) {
        assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion })), outcome);
        assert.equal(await storage.requestEviction(aModelRow({ ...id, resourceVersion }), at), outcome);
        assert.equal(await storage.delete(aModelRow({ ...id, resourceVersion }), at), outcome);
      }
      assert.equal((await storage.getById(modelKind, id.uid))?.state, 'evicted');
    });

    it('keeps incarnations of one name apart and finds the living one, else the evicted, else the newest', async () => {
      const storage = storageFor();
      const { name: objectName } = fresh();
      const incarnation = (uid: string, created: string) =>
        aModelRow({ name: objectName, uid: `${uid}-${name}-${counter}`, creationTimestamp: created });
      const find = async (): Promise<string | undefined> =>
        (await storage.getByName(modelKind, 'a-namespace', objectName))?.uid.split('-')[0];
      await storage.finish(incarnation('old', '2026-01-01T00:00:00Z'), at);
      await storage.finish(incarnation('newer', '2026-01-02T00:00:00Z'), at);
      assert.equal(await find(), 'newer');
      const evicted = incarnation('evicted', '2025-12-01T00:00:00Z');
      await storage.requestEviction(evicted, at);
      await storage.finish(evicted, at);
      assert.equal(await find(), 'evicted');
      await storage.upsert(incarnation('alive', '2025-11-01T00:00:00Z'));
      assert.equal(await find(), 'alive');
    });

    it('lets no caller write while the gate is closed, whichever process closed it', async () => {
      const storage = storageFor();
      const id = fresh();
      await storage.upsert(aModelRow({ ...id, resourceVersion: '1' }));
      await storage.closeGate('a-task', 'a test');
      await storage.closeGate('a-task', 'a test that was killed and runs again');
      const refused = { code: 'STORAGE_GATE_CLOSED' };
      await assert.rejects(storage.upsert(aModelRow({ ...id, resourceVersion: '2' })), refused);
      await assert.rejects(storage.finish(aModelRow({ ...id, resourceVersion: '2' }), at), refused);
      await assert.rejects(storage.closeGate('another-task', 'a test'), { code: 'STORAGE_GATE_HELD' });
      await assert.rejects(storage.openGate('another-task'), { code: 'STORAGE_GATE_HELD' });
      assert.equal((await storage.getById(modelKind, id.uid))?.resourceVersion, '1');
      await storage.openGate('a-task');
      await storage.openGate('a-task');
      assert.equal(await storage.upsert(aModelRow({ ...id, resourceVersion: '2' })), 'updated');
    });

    it('finds no row for an unknown uid or name', async () => {
      const storage = storageFor();
      assert.equal(await storage.getById(modelKind, 'no-such-uid'), undefined);
      assert.equal(await storage.getByName(modelKind, 'a-namespace', 'no-such-name'), undefined);
    });

    it('does not mix up concurrent writers of one object and of its neighbours', async () => {
      const storage = storageFor();
      const ids = Array.from({ length: 8 }, fresh);
      const writes = ids.flatMap((id) =>
        Array.from({ length: 8 }, (_, index) =>
          storage.upsert(aModelRow({ ...id, resourceVersion: String(index + 1), labels: { v: String(index + 1) } })),
        ),
      );
      await Promise.all(writes);
      for (const id of ids) {
        const stored = await storage.getById(modelKind, id.uid);
        assert.equal(stored?.resourceVersion, '8');
        assert.deepEqual({ ...stored.labels }, { v: '8' });
      }
    });
  });
}
