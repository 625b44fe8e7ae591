import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { canonicalJson, type JsonObject, valueAt } from '../../src/base/json.ts';
import { parseLossless } from '../../src/base/lossless-json.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import type { BackfillProgress, CollectionQuery } from '../../src/storage/bulk.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import type { ObjectRow, RowState } from '../../src/storage/row.ts';
import { aModelRow, kindNamed, modelKind } from '../support/objects.ts';

const at = new Date('2026-05-06T07:08:09.123Z');
const encode = (object: JsonObject): Uint8Array => encodeObject('Model', object);

/** What every MetadataStorage promises about calls that change many rows, or rows that are in the database only. */
export function storageBulkContract(suite: string, storageFor: () => MetadataStorage): void {
  const put = async (state: RowState, row: ObjectRow): Promise<void> => {
    const storage = storageFor();
    if (state === 'live') await storage.upsert(row);
    if (state === 'evicting' || state === 'evicted') await storage.requestEviction(row, at);
    if (state === 'evicted' || state === 'deleted') await storage.finish(row, at);
  };

  describe(`${suite}, deleteCollection`, () => {
    let counter = 0;
    /** Three rows of each state in a namespace of their own; the first of each is labelled. */
    const fill = async (): Promise<string> => {
      counter += 1;
      const namespace = `collection-${counter}`;
      for (const state of ['live', 'evicting', 'deleted', 'evicted'] as const) {
        for (const index of [0, 1, 2]) {
          const uid = `${namespace}-${state}-${index}`;
          const labels = index === 0 ? { keep: 'no' } : {};
          await put(state, aModelRow({ uid, name: uid, namespace, labels }, { algorithm: `a${index}` }));
        }
      }
      return namespace;
    };
    const statesOf = async (namespace: string): Promise<Readonly<Record<string, string>>> => {
      const { items } = await storageFor().list(modelKind, { namespace, deleted: 'included' });
      const states = items.map(({ uid, state }) => [uid.slice(namespace.length + 1), state] as const);
      return Object.fromEntries(states.filter(([uid, state]) => !uid.startsWith(state)));
    };

    it('deletes the objects in the states asked for, in its namespace alone', async () => {
      const namespace = await fill();
      const other = await fill();
      const result = await storageFor().deleteCollection(modelKind, { namespace, states: ['evicted'] }, at);
      assert.deepEqual(result, { deleted: 3, remaining: 'none' });
      assert.deepEqual(await statesOf(namespace), {
        'evicted-0': 'deleted',
        'evicted-1': 'deleted',
        'evicted-2': 'deleted',
      });
      assert.deepEqual(await statesOf(other), {});
      const stored = await storageFor().getById(modelKind, `${namespace}-evicted-0`);
      assert.deepEqual([stored?.deleteTime, stored?.evictTime], ['2026-05-06T07:08:09.123000Z', undefined]);
    });

    it('deletes the objects that the selector finds and no other', async () => {
      const namespace = await fill();
      const query: CollectionQuery = {
        namespace,
        states: ['live', 'evicting', 'evicted'],
        labels: [{ key: 'keep', operator: 'in', values: ['no'] }],
      };
      assert.deepEqual(await storageFor().deleteCollection(modelKind, query, at), { deleted: 3, remaining: 'none' });
      const deleted = { 'live-0': 'deleted', 'evicting-0': 'deleted', 'evicted-0': 'deleted' };
      assert.deepEqual(await statesOf(namespace), deleted);
      const where = { field: 'algorithm', operator: '=', value: 'a1' } as const;
      await storageFor().deleteCollection(modelKind, { namespace, states: ['live'], where }, at);
      assert.deepEqual(await statesOf(namespace), { ...deleted, 'live-1': 'deleted' });
    });

    it('refuses a selector that it cannot follow, and deletes nothing', async () => {
      const namespace = await fill();
      const where = { field: 'spec.secret', operator: '=', value: 'x' } as const;
      await assert.rejects(storageFor().deleteCollection(modelKind, { namespace, states: ['live'], where }, at), {
        code: 'STORAGE_QUERY_UNSUPPORTED',
      });
      assert.deepEqual(await storageFor().deleteCollection(modelKind, { namespace, states: [] }, at), {
        deleted: 0,
        remaining: 'none',
      });
      assert.deepEqual(await statesOf(namespace), {});
    });

    it('deletes at the version that the caller names, and no other', async () => {
      const namespace = await fill();
      const where = { field: 'metadata.uid', operator: '=', value: `${namespace}-evicted-0` } as const;
      const query = { namespace, states: ['evicted'], where } as const;
      const stored = await storageFor().getById(modelKind, where.value);
      const deleteAt = (resourceVersion = ''): Promise<unknown> =>
        storageFor().deleteCollection(modelKind, { ...query, resourceVersion }, at);
      assert.deepEqual(await deleteAt(`${stored?.resourceVersion}0`), { deleted: 0, remaining: 'none' });
      assert.deepEqual(await statesOf(namespace), {});
      assert.deepEqual(await deleteAt(stored?.resourceVersion), { deleted: 1, remaining: 'none' });
    });

    it('stops at the limit, says that there is more, and goes on when called again', async () => {
      const namespace = await fill();
      const query: CollectionQuery = { namespace, states: ['live', 'evicted'], limit: 4 };
      assert.deepEqual(await storageFor().deleteCollection(modelKind, query, at), { deleted: 4, remaining: 'some' });
      assert.deepEqual(await storageFor().deleteCollection(modelKind, query, at), { deleted: 2, remaining: 'none' });
    });

    it('deletes nothing while the gate is closed', async () => {
      const namespace = await fill();
      await storageFor().closeGate('a-task', 'a test');
      try {
        await assert.rejects(storageFor().deleteCollection(modelKind, { namespace, states: ['live'] }, at), {
          code: 'STORAGE_GATE_CLOSED',
        });
      } finally {
        await storageFor().openGate('a-task');
      }
      assert.deepEqual(await statesOf(namespace), {});
    });
  });

  describe(`${suite}, directUpdate`, () => {
    let counter = 0;
    const evicted = async (resourceVersion = '10'): Promise<string> => {
      counter += 1;
      const uid = `direct-${counter}`;
      const labels = { team: 'a', 'michelangelo/UpdateTimestamp': '1' };
      const annotations = { note: 'old', 'michelangelo/Immutable': 'true' };
      await put('evicted', aModelRow({ uid, name: uid, resourceVersion, labels, annotations }, { big: 5 }));
      return uid;
    };
    const read = async (uid: string) => (await storageFor().getById(modelKind, uid)) ?? assert.fail('no row');

    it('replaces labels and annotations, keeps those of this system, and answers the next version', async () => {
      const uid = await evicted();
      const change = {
        labels: { team: 'b', 'michelangelo/UpdateTimestamp': '2' },
        annotations: { other: 'new' },
        encode,
      };
      const result = await storageFor().directUpdate(modelKind, { uid, resourceVersion: '10' }, change);
      assert.deepEqual(result, { resourceVersion: '11' });
      const stored = await read(uid);
      const labels = { team: 'b', 'michelangelo/UpdateTimestamp': '1' };
      const annotations = { other: 'new', 'michelangelo/Immutable': 'true' };
      assert.deepEqual([stored.resourceVersion, stored.state], ['11', 'evicted']);
      assert.deepEqual({ ...stored.labels }, labels);
      assert.deepEqual({ ...stored.annotations }, annotations);
      const object = parseLossless(stored.json) as JsonObject;
      assert.deepEqual(valueAt(object, ['metadata', 'labels']), labels);
      assert.deepEqual(valueAt(object, ['metadata', 'annotations']), annotations);
      assert.equal(valueAt(object, ['metadata', 'resourceVersion']), '11');
      assert.deepEqual(stored.proto, encode(object));
    });

    it('leaves spec, status and the other map untouched', async () => {
      const uid = await evicted();
      const before = await read(uid);
      await storageFor().directUpdate(modelKind, { uid }, { labels: {}, encode });
      const after = await read(uid);
      const rest = (json: string): string => {
        const { metadata: _, ...others } = parseLossless(json) as JsonObject;
        return canonicalJson(others);
      };
      assert.equal(rest(after.json), rest(before.json));
      assert.deepEqual({ ...after.annotations }, { ...before.annotations });
      assert.deepEqual({ ...after.labels }, { 'michelangelo/UpdateTimestamp': '1' });
    });

    it('lets a list find the object by its new labels, and not by its old ones', async () => {
      const uid = await evicted();
      const find = async (value: string): Promise<boolean> => {
        const { items } = await storageFor().list(modelKind, {
          labels: [{ key: 'team', operator: 'in', values: [value] }],
          limit: 1000,
        });
        return items.some((item) => item.uid === uid);
      };
      await storageFor().directUpdate(modelKind, { uid }, { labels: { team: `new-${uid}` }, encode });
      assert.deepEqual([await find('a'), await find(`new-${uid}`)], [false, true]);
    });

    it('lets the first of two updates win, and takes versions beyond 2^53 exactly', async () => {
      const uid = await evicted('9007199254740993');
      const target = { uid, resourceVersion: '9007199254740993' };
      const results = await Promise.allSettled(
        ['x', 'y'].map((team) => storageFor().directUpdate(modelKind, target, { labels: { team }, encode })),
      );
      const codes = results.map((one) =>
        one.status === 'fulfilled' ? one.value.resourceVersion : (one.reason as { code: string }).code,
      );
      assert.deepEqual(codes.sort(), ['9007199254740994', 'STORAGE_CONFLICT']);
    });

    it('refuses an object that is in the cluster, was deleted or never existed, and an update that is not valid', async () => {
      const uid = await evicted();
      const change = { labels: { team: 'b' }, encode };
      const update = (target: { uid: string; resourceVersion?: string }, changed = change) =>
        storageFor().directUpdate(modelKind, target, changed);
      for (const state of ['live', 'evicting', 'deleted'] as const) {
        await put(state, aModelRow({ uid: `direct-${state}`, name: `direct-${state}` }));
      }
      await assert.rejects(update({ uid: 'direct-live' }), { code: 'STORAGE_UPDATE_REFUSED', message: /cluster/ });
      await assert.rejects(update({ uid: 'direct-evicting' }), { code: 'STORAGE_UPDATE_REFUSED' });
      await assert.rejects(update({ uid: 'direct-deleted' }), { code: 'STORAGE_OBJECT_MISSING' });
      await assert.rejects(update({ uid: 'direct-never' }), { code: 'STORAGE_OBJECT_MISSING' });
      await assert.rejects(update({ uid, resourceVersion: 'ten' }), { message: /"ten" is no resourceVersion/ });
      const invalid = { labels: { 'a b': 'x', team: '-' }, annotations: { note: 'x'.repeat(300_000) }, encode };
      await assert.rejects(update({ uid }, invalid), (error: Error) => {
        assert.match(error.message, /"a b" cannot be the key of a label/);
        assert.match(error.message, /the value of label "team"/);
        assert.match(error.message, /annotations have 300004 bytes/);
        return true;
      });
      assert.equal((await read(uid)).resourceVersion, '10');
    });
  });

  describe(`${suite}, backfill`, () => {
    // A kind that no other suite writes to, because a back-fill walks over all rows of it.
    const kind = kindNamed('Revision');
    const uids = Array.from({ length: 7 }, (_, index) => `backfill-${index}`);
    const objectRow = (uid: string): ObjectRow => {
      const row = aModelRow(
        { uid, name: uid, labels: { a: 'b' } },
        { owner: { name: uid }, baseType: { kind: 'Model' } },
      );
      const fromJson = [
        'base_resource_namespace',
        'base_resource_name',
        'base_type',
        'owner',
        'commit_branch',
        'git_ref',
      ];
      assert.equal(kind.indexes.flat().length, fromJson.length);
      return { ...row, kind, columns: fromJson.map(() => null) };
    };
    const owned = async (owner: string): Promise<number> => {
      const where = { field: 'owner', operator: '=', value: owner } as const;
      return (await storageFor().list(kind, { where })).items.length;
    };
    before(async () => {
      for (const uid of uids) await storageFor().upsert(objectRow(uid));
    });

    it('writes the columns from the json in pages, tells its progress, and stops and goes on', async () => {
      const stop = new AbortController();
      const seen: BackfillProgress[] = [];
      const onProgress = (progress: BackfillProgress): void => {
        seen.push(progress);
        if (seen.length === 2) stop.abort();
      };
      assert.equal(await owned('backfill-0'), 0);
      const first = await storageFor().backfill(kind, { pageSize: 2, pauseMs: 0, signal: stop.signal, onProgress });
      assert.deepEqual(first, { scanned: 4, changed: 4, lastUid: 'backfill-3' });
      assert.deepEqual(seen[0], { scanned: 2, changed: 2, lastUid: 'backfill-1' });
      assert.deepEqual([await owned('backfill-3'), await owned('backfill-4')], [1, 0]);
      const rest = await storageFor().backfill(kind, { pageSize: 2, pauseMs: 0, afterUid: 'backfill-3' });
      assert.deepEqual(rest, { scanned: 3, changed: 3, lastUid: 'backfill-6' });
      assert.equal(await owned('backfill-6'), 1);
    });

    it('changes no row whose columns are right', async () => {
      const again = await storageFor().backfill(kind, { pauseMs: 0 });
      assert.deepEqual(again, { scanned: 7, changed: 0, lastUid: 'backfill-6' });
      await assert.rejects(storageFor().backfill(kind, { pageSize: 0 }), { code: 'STORAGE_QUERY_UNSUPPORTED' });
    });

    it('leaves the state of the object as it is', async () => {
      const stored = await storageFor().getById(kind, 'backfill-0');
      assert.deepEqual([stored?.resourceVersion, stored?.state, { ...stored?.labels }], ['10', 'live', { a: 'b' }]);
    });
  });
}
