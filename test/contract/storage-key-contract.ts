import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PRIMARY_KEY_ANNOTATION } from '../../src/api/names.ts';
import type { ObjectMeta } from '../../src/api/object.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { aModelRow, modelKind as kind } from '../support/objects.ts';

const at = new Date('2026-05-06T07:08:09.123Z');
const BEFORE = '2026-01-02T03:04:05Z';
const AFTER = '2026-03-04T05:06:07Z';

/** What every MetadataStorage promises of rows whose key is not the uid of their object. */
export function storageKeyContract(name: string, storageFor: () => MetadataStorage): void {
  let counter = 0;
  /** One logical object: `old` in the cluster that it was moved from, `moved` in the one it is in, where versions are lower. */
  const fresh = () => {
    counter += 1;
    const [key, uid] = [`key-${name}-${counter}`, `moved-${name}-${counter}`];
    const id = { name: `key-name-${counter}`, namespace: 'keys' };
    return {
      key,
      uid,
      id,
      old: (resourceVersion: string, more: Partial<ObjectMeta> = {}): ObjectRow =>
        aModelRow({ ...id, uid: key, resourceVersion, creationTimestamp: BEFORE, ...more }, { algorithm: 'old' }),
      moved: (resourceVersion: string, more: Partial<ObjectMeta> = {}): ObjectRow => {
        const annotations = { [PRIMARY_KEY_ANNOTATION]: key };
        const metadata = { ...id, uid, resourceVersion, creationTimestamp: AFTER, annotations, ...more };
        return aModelRow(metadata, { algorithm: 'moved' });
      },
    };
  };
  const keysOf = async (namespace: string, wanted: string): Promise<readonly string[]> => {
    const found = await storageFor().incarnations(kind, namespace, wanted, 10);
    return found.map(({ key, uid }) => key ?? uid).sort();
  };

  describe(`${name} and the keys of rows`, () => {
    it('gives a new object the row of the key that it names, and finds it by its uid', async () => {
      const storage = storageFor();
      const { key, uid, id, moved } = fresh();
      assert.equal(await storage.upsert(moved('5', { labels: { a: 'b' } })), 'inserted');
      assert.equal(await storage.upsert(moved('5', { labels: { a: 'b' } })), 'unchanged');
      assert.equal(await storage.upsert(moved('4')), 'stale');
      const stored = await storage.getById(kind, uid);
      assert.deepEqual([stored?.uid, stored?.key, stored?.resourceVersion], [uid, key, '5']);
      assert.deepEqual({ ...stored?.labels }, { a: 'b' });
      assert.equal(await storage.getById(kind, key), undefined);
      assert.deepEqual(await keysOf('keys', id.name), [key]);
    });

    it('keeps one row through a move to another cluster, also to lower versions', async () => {
      const storage = storageFor();
      const { key, uid, id, old, moved } = fresh();
      await storage.upsert(old('900000', { labels: { where: 'old' } }));
      assert.equal(await storage.upsert(moved('5', { labels: { where: 'new' } })), 'inserted');
      assert.equal(await storage.upsert(moved('6', { labels: { where: 'newer' } })), 'updated');
      assert.deepEqual(await keysOf('keys', id.name), [key]);
      const stored = await storage.getByName(kind, 'keys', id.name);
      assert.deepEqual([stored?.uid, stored?.key, stored?.resourceVersion], [uid, key, '6']);
      assert.match(stored?.json ?? '', /moved/);
      assert.deepEqual({ ...stored?.labels }, { where: 'newer' });
    });

    it('does not go back to the object of the cluster before, whatever its version', async () => {
      const storage = storageFor();
      const { uid, key, old, moved } = fresh();
      await storage.upsert(old('900000'));
      await storage.upsert(moved('5'));
      assert.equal(await storage.upsert(old('900001')), 'stale');
      assert.equal(await storage.finish(old('900002'), at), 'stale');
      const missed = { uid: key, resourceVersion: '900003' };
      assert.equal(await storage.markMissedDelete(kind, missed, at, 'gone'), 'unchanged');
      const stored = await storage.getById(kind, uid);
      assert.deepEqual([stored?.state, stored?.resourceVersion], ['live', '5']);
    });

    it('revives a row that ended with the cluster before', async () => {
      const storage = storageFor();
      const { uid, id, key, old, moved } = fresh();
      await storage.delete(old('900000'), at);
      await storage.upsert(moved('5'));
      const stored = await storage.getById(kind, uid);
      assert.deepEqual([stored?.state, stored?.deleteTime], ['live', undefined]);
      assert.deepEqual(await keysOf('keys', id.name), [key]);
    });

    it('ends the row of the object: deleted, evicted, or by a delete that was missed', async () => {
      const storage = storageFor();
      const [deleted, evicted, missed] = [fresh(), fresh(), fresh()];
      for (const { moved } of [deleted, evicted, missed]) await storage.upsert(moved('5'));
      await storage.finish(deleted.moved('6'), at);
      await storage.requestEviction(evicted.moved('6'), at);
      await storage.finish(evicted.moved('7'), at);
      await storage.markMissedDelete(kind, { uid: missed.uid, resourceVersion: '5' }, at, 'gone');
      const states = [deleted, evicted, missed].map(async ({ uid }) => (await storage.getById(kind, uid))?.state);
      assert.deepEqual(await Promise.all(states), ['deleted', 'evicted', 'deleted']);
      const tombstones = await storage.tombstones(kind, { namespace: 'keys', limit: 100 });
      assert.ok(tombstones.some(({ uid }) => uid === evicted.uid));
    });

    it('never takes the row of an object that was evicted: the later one has a row of its own', async () => {
      const storage = storageFor();
      const { key, uid, id, old, moved } = fresh();
      await storage.requestEviction(old('7'), at);
      assert.equal(await storage.upsert(moved('9')), 'inserted');
      assert.deepEqual(await keysOf('keys', id.name), [key, uid]);
      await storage.finish(old('8'), at);
      assert.equal(await storage.finish(moved('10'), at), 'updated');
      const [archived, later] = [await storage.getById(kind, key), await storage.getById(kind, uid)];
      assert.deepEqual([archived?.state, later?.state], ['evicted', 'deleted']);
      assert.match(archived?.json ?? '', /old/);
    });

    it('never takes the row of an object of another name', async () => {
      const storage = storageFor();
      const { key, uid, old, moved } = fresh();
      await storage.upsert(old('7'));
      const other = { name: 'another-name' };
      assert.equal(await storage.upsert(moved('9', other)), 'inserted');
      assert.equal(await storage.upsert(moved('10', other)), 'updated');
      assert.equal(await storage.upsert(old('8')), 'updated');
      const [first, second] = [await storage.getById(kind, key), await storage.getById(kind, uid)];
      assert.deepEqual([first?.resourceVersion, first?.key], ['8', undefined]);
      assert.deepEqual([second?.resourceVersion, second?.key], ['10', undefined]);
    });

    it('gives one of two objects that come at once the key that both name', async () => {
      const storage = storageFor();
      const { key, uid, moved } = fresh();
      const twin = { uid: `${uid}-twin`, name: `${uid}-twin` };
      assert.deepEqual(await Promise.all([storage.upsert(moved('9')), storage.upsert(moved('9', twin))]), [
        'inserted',
        'inserted',
      ]);
      const [first, second] = [await storage.getById(kind, uid), await storage.getById(kind, twin.uid)];
      const keys = [first, second].map((stored) => stored?.key ?? stored?.uid);
      assert.ok(keys.includes(key) && new Set(keys).size === 2, keys.join());
    });

    it('gives an object the row of its uid, which another one was told for its key, and that one a row of its own', async () => {
      const storage = storageFor();
      const { key, uid, id, old, moved } = fresh();
      const squatter = { name: 'squatter', labels: { a: 'b' } };
      await storage.upsert(moved('9', squatter));
      assert.equal(await storage.upsert(old('7')), 'inserted');
      assert.deepEqual([await keysOf('keys', id.name), await keysOf('keys', 'squatter')], [[key], [uid]]);
      assert.equal(await storage.upsert(moved('9', squatter)), 'unchanged');
      assert.equal(await storage.upsert(moved('10', squatter)), 'updated');
      assert.equal(await storage.finish(old('8'), at), 'updated');
      assert.deepEqual({ ...(await storage.getById(kind, uid))?.labels }, { a: 'b' });
    });

    it('keeps two objects apart of which one has to move while it is written', async () => {
      const storage = storageFor();
      const { key, uid, id, old, moved } = fresh();
      await storage.upsert(moved('9', { name: 'squatter-b' }));
      const forgot = moved('90', { name: 'squatter-b', annotations: {} });
      await Promise.all([storage.upsert(forgot), storage.upsert(old('7'))]);
      const [first, second] = [await storage.getById(kind, key), await storage.getById(kind, uid)];
      assert.deepEqual([first?.name, first?.resourceVersion], [id.name, '7']);
      assert.deepEqual([second?.name, second?.resourceVersion, second?.key], ['squatter-b', '90', undefined]);
    });

    it('keeps the row that an object has when its annotation changes or goes', async () => {
      const storage = storageFor();
      const { key, uid, id, moved } = fresh();
      await storage.upsert(moved('5'));
      assert.equal(await storage.upsert(moved('6', { annotations: {} })), 'updated');
      const changed = { annotations: { [PRIMARY_KEY_ANNOTATION]: `${key}-b` } };
      assert.equal(await storage.upsert(moved('7', changed)), 'updated');
      assert.deepEqual(await keysOf('keys', id.name), [key]);
      const plain = fresh();
      await storage.upsert(plain.moved('5', { annotations: {} }));
      assert.equal(await storage.upsert(plain.moved('6')), 'updated');
      assert.deepEqual(await keysOf('keys', plain.id.name), [plain.uid]);
      assert.equal((await storage.getById(kind, uid))?.resourceVersion, '7');
    });

    it('says which object a row is of, in pages by key', async () => {
      const storage = storageFor();
      const { key, uid, moved } = fresh();
      await storage.upsert(moved('5'));
      const [found] = await storage.identities(kind, { states: ['live'], uids: [uid], limit: 1 });
      assert.deepEqual([found?.uid, found?.key], [uid, key]);
      assert.deepEqual(await storage.identities(kind, { states: ['live'], uids: [key], limit: 1 }), []);
      const before = key.slice(0, -1);
      const [first] = await storage.identities(kind, { states: ['live'], afterKey: before, limit: 1 });
      assert.ok(first !== undefined && (first.key ?? first.uid) > before && (first.key ?? first.uid) <= key);
    });

    it('repairs and relabels the row of the object', async () => {
      const storage = storageFor();
      const { key, uid, id, moved } = fresh();
      await storage.upsert(moved('50'));
      assert.equal(await storage.replace(moved('40', { annotations: {} }), '50', { state: 'live' }), 'updated');
      assert.equal((await storage.getById(kind, uid))?.resourceVersion, '40');
      assert.deepEqual(await keysOf('keys', id.name), [key]);
      await storage.requestEviction(moved('51'), at);
      await storage.finish(moved('52'), at);
      const target = { uid, resourceVersion: '52' };
      const encode = () => new Uint8Array();
      await storage.directUpdate(kind, target, { labels: { tier: 'gold' }, encode });
      assert.deepEqual({ ...(await storage.getById(kind, uid))?.labels }, { tier: 'gold' });
      const labels = [{ key: 'tier', operator: 'in' as const, values: ['gold'] }];
      const { items } = await storage.list(kind, { namespace: 'keys', labels });
      assert.deepEqual(
        items.map((item) => [item.uid, item.key]),
        [[uid, key]],
      );
    });
  });
}
