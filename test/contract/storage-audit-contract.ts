import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { MetadataStorage, Tombstone } from '../../src/storage/metadata-storage.ts';
import type { RowState } from '../../src/storage/row.ts';
import { aModelRow, kindNamed } from '../support/objects.ts';

const at = new Date('2026-05-06T07:08:09.123Z');
const atText = '2026-05-06T07:08:09.123000Z';
const reason = 'not in the API server';

// A kind that no other suite writes to, because these reads see all rows of it.
const kind = kindNamed('Cluster');

interface Given {
  readonly uid: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const rowOf = (given: Given) => ({ ...aModelRow({ name: given.uid, ...given }), kind, columns: [] });

/** What every MetadataStorage promises to a caller that compares it with a cluster. */
export function storageAuditContract(suite: string, storageFor: () => MetadataStorage): void {
  const put = async (state: RowState, given: Given): Promise<void> => {
    const storage = storageFor();
    const row = rowOf(given);
    if (state === 'live') await storage.upsert(row);
    if (state === 'evicting' || state === 'evicted') await storage.requestEviction(row, at);
    if (state === 'evicted' || state === 'deleted') await storage.finish(row, at);
  };

  describe(`${suite}, identities`, () => {
    const states: readonly RowState[] = ['live', 'evicting', 'deleted', 'evicted'];
    const all = Array.from({ length: 12 }, (_, index) => ({
      uid: `identity-${String(index).padStart(2, '0')}`,
      state: states[index % 4] ?? 'live',
    }));
    const ours = (given: readonly { readonly uid: string; readonly state: RowState }[]) =>
      given.filter(({ uid }) => uid.startsWith('identity-')).map(({ uid, state }) => ({ uid, state }));

    before(async () => {
      for (const { uid, state } of all.toReversed()) await put(state, { uid, resourceVersion: '9007199254740993' });
    });

    it('are the objects in the states asked for, ordered by uid', async () => {
      for (const wanted of [states, ['live', 'evicting'], ['evicted'], []] as const) {
        const found = await storageFor().identities(kind, { states: wanted, limit: 10_000 });
        assert.deepEqual(
          ours(found),
          all.filter(({ state }) => wanted.some((one) => one === state)),
        );
      }
    });

    it('have namespace, name, version and state', async () => {
      const [found] = await storageFor().identities(kind, { states, afterKey: 'identity-00', limit: 1 });
      assert.deepEqual(found, {
        uid: 'identity-01',
        namespace: 'a-namespace',
        name: 'identity-01',
        resourceVersion: '9007199254740993',
        state: 'evicting',
      });
    });

    it('come in pages without a gap or a repeat', async () => {
      const seen: string[] = [];
      for (let afterKey = 'identity-'; ; ) {
        const page = await storageFor().identities(kind, { states: ['evicted', 'live'], afterKey, limit: 2 });
        seen.push(...ours(page).map(({ uid }) => uid));
        const last = page.at(-1);
        if (last === undefined) break;
        afterKey = last.uid;
      }
      assert.deepEqual(
        seen,
        all.filter(({ state }) => state === 'evicted' || state === 'live').map(({ uid }) => uid),
      );
    });

    it('of given uids are those of them that are stored in the states asked for', async () => {
      for (const length of [0, 1, 3, 300]) {
        const others = Array.from({ length }, (_, index) => `other-${index}`);
        const uids = [...others, 'identity-08', 'identity-00', 'identity-01 ', 'identity-03', 'identity-09'];
        const found = await storageFor().identities(kind, { states: ['live', 'deleted'], uids, limit: 1000 });
        assert.deepEqual(
          found.map(({ uid, state }) => ({ uid, state })),
          [
            { uid: 'identity-00', state: 'live' },
            { uid: 'identity-08', state: 'live' },
          ],
        );
      }
      assert.deepEqual(await storageFor().identities(kind, { states, uids: [], limit: 10 }), []);
    });

    it('are refused in pages out of bounds', async () => {
      for (const limit of [0, 10_001, 1.5]) {
        await assert.rejects(storageFor().identities(kind, { states, limit }), { code: 'STORAGE_QUERY_UNSUPPORTED' });
        await assert.rejects(storageFor().tombstones(kind, { limit }), { code: 'STORAGE_QUERY_UNSUPPORTED' });
      }
    });
  });

  describe(`${suite}, missed deletes`, () => {
    it('are marked deleted at the version that was known, once', async () => {
      const storage = storageFor();
      const id = { uid: 'missed-live', resourceVersion: '5' };
      await put('live', id);
      assert.equal(await storage.markMissedDelete(kind, id, at, reason), 'updated');
      const stored = await storage.getById(kind, id.uid);
      assert.deepEqual([stored?.state, stored?.deleteTime, stored?.resourceVersion], ['deleted', atText, '5']);
      assert.equal(await storage.markMissedDelete(kind, id, new Date(), reason), 'unchanged');
      assert.equal((await storage.getById(kind, id.uid))?.deleteTime, atText);
    });

    it('are evicted, not deleted, where eviction was requested', async () => {
      const storage = storageFor();
      const id = { uid: 'missed-evicting', resourceVersion: '5' };
      await put('evicting', id);
      assert.equal(await storage.markMissedDelete(kind, id, at, reason), 'updated');
      const stored = await storage.getById(kind, id.uid);
      assert.deepEqual([stored?.state, stored?.evictTime, stored?.deleteTime], ['evicted', atText, undefined]);
    });

    it('are evicted, not deleted, where they are older than what they are kept before', async () => {
      const storage = storageFor();
      const second = 1000;
      for (const [uid, laterMs, state] of [
        ['missed-older', second, 'evicted'],
        ['missed-as-old', 0, 'deleted'],
        ['missed-younger', -second, 'deleted'],
      ] as const) {
        const id = { uid, resourceVersion: '5' };
        await put('live', id);
        const keptBefore = new Date(Date.parse(rowOf(id).createTime) + laterMs);
        assert.equal(await storage.markMissedDelete(kind, { ...id, keptBefore }, at, reason), 'updated');
        assert.equal((await storage.getById(kind, uid))?.state, state);
      }
    });

    it('are left alone where a newer state is stored', async () => {
      const storage = storageFor();
      await put('live', { uid: 'missed-newer', resourceVersion: '6' });
      const outcome = await storage.markMissedDelete(kind, { uid: 'missed-newer', resourceVersion: '5' }, at, reason);
      assert.equal(outcome, 'stale');
      assert.equal((await storage.getById(kind, 'missed-newer'))?.state, 'live');
    });

    it('are left alone where they have ended, or were never stored', async () => {
      const storage = storageFor();
      await put('evicted', { uid: 'missed-ended', resourceVersion: '5' });
      for (const uid of ['missed-ended', 'missed-unknown']) {
        assert.equal(await storage.markMissedDelete(kind, { uid, resourceVersion: '5' }, at, reason), 'unchanged');
      }
      assert.equal((await storage.getById(kind, 'missed-ended'))?.state, 'evicted');
      assert.equal(await storage.getById(kind, 'missed-unknown'), undefined);
    });

    it('stay evicted when a final state of them arrives after all', async () => {
      const storage = storageFor();
      for (const resourceVersion of ['5', '6']) {
        const id = { uid: `missed-kept-${resourceVersion}`, resourceVersion: '5' };
        await put('live', id);
        const keptBefore = new Date(Date.parse(rowOf(id).createTime) + 1000);
        await storage.markMissedDelete(kind, { ...id, keptBefore }, at, reason);
        await storage.finish(rowOf({ ...id, resourceVersion }), at);
        const stored = await storage.getById(kind, id.uid);
        const facts = [stored?.state, stored?.resourceVersion, stored?.evictTime, stored?.deleteTime];
        assert.deepEqual(facts, ['evicted', resourceVersion, atText, undefined]);
      }
    });

    it('are live again when a newer state of them arrives after all', async () => {
      const storage = storageFor();
      const id = { uid: 'missed-back', resourceVersion: '5' };
      await put('live', id);
      await storage.markMissedDelete(kind, id, at, reason);
      assert.equal(await storage.upsert(rowOf(id)), 'unchanged');
      assert.equal(await storage.upsert(rowOf({ ...id, resourceVersion: '6' })), 'updated');
      const stored = await storage.getById(kind, id.uid);
      assert.deepEqual([stored?.state, stored?.deleteTime], ['live', undefined]);
    });

    it('are not marked while the gate is closed', async () => {
      const storage = storageFor();
      const id = { uid: 'missed-gate', resourceVersion: '5' };
      await put('live', id);
      await storage.closeGate('a-task', 'a test');
      try {
        await assert.rejects(storage.markMissedDelete(kind, id, at, reason), { code: 'STORAGE_GATE_CLOSED' });
        await assert.rejects(storage.recordPosition(kind, { resourceVersion: '1', at }), {
          code: 'STORAGE_GATE_CLOSED',
        });
      } finally {
        await storage.openGate('a-task');
      }
      assert.equal((await storage.getById(kind, id.uid))?.state, 'live');
    });
  });

  describe(`${suite}, tombstones`, () => {
    const namespace = 'tombs';
    before(async () => {
      const newer = '2026-02-02T00:00:00Z';
      await put('evicted', { uid: 'tomb-b', name: 'b', namespace });
      await put('evicted', { uid: 'tomb-a-old', name: 'a', namespace });
      await put('evicted', { uid: 'tomb-a-new', name: 'a', namespace, creationTimestamp: newer });
      await put('deleted', { uid: 'tomb-a-deleted', name: 'a', namespace, creationTimestamp: '2026-03-03T00:00:00Z' });
      await put('evicted', { uid: 'tomb-used', name: 'used', namespace });
      await put('live', { uid: 'tomb-used-again', name: 'used', namespace, creationTimestamp: newer });
      await put('evicted', { uid: 'tomb-going', name: 'going', namespace });
      await put('evicting', { uid: 'tomb-going-again', name: 'going', namespace, creationTimestamp: newer });
      await put('deleted', { uid: 'tomb-deleted', name: 'deleted', namespace });
      await put('live', { uid: 'tomb-live', name: 'live', namespace });
      await put('evicted', { uid: 'tomb-0', name: 'z', namespace: 'tombs-0' });
      await put('evicted', { uid: 'tomb-1', name: 'a', namespace: 'tombs-1' });
    });
    const uids = (found: readonly Tombstone[]) => found.map(({ uid }) => uid);

    it('are the evicted objects whose name nothing uses, one per name, ordered by name', async () => {
      const found = await storageFor().tombstones(kind, { namespace, limit: 100 });
      assert.deepEqual(uids(found), ['tomb-a-new', 'tomb-b']);
      assert.deepEqual(found[1], {
        uid: 'tomb-b',
        namespace,
        name: 'b',
        resourceVersion: '10',
        evictTime: atText,
      });
    });

    it('come in pages across all namespaces', async () => {
      const seen: Tombstone[] = [];
      for (let page = await storageFor().tombstones(kind, { limit: 1 }); page.length > 0; ) {
        seen.push(...page);
        const [after] = page;
        page = await storageFor().tombstones(kind, { limit: 1, ...(after === undefined ? {} : { after }) });
      }
      const ours = uids(seen.filter((one) => one.namespace.startsWith(namespace)));
      assert.deepEqual(ours, ['tomb-a-new', 'tomb-b', 'tomb-0', 'tomb-1']);
    });
  });

  describe(`${suite}, incarnations`, () => {
    it('are all objects that ever had the name, created last first, and no more than asked for', async () => {
      const storage = storageFor();
      const name = 'reborn';
      const day = (number: number) => `2026-01-0${number}T00:00:00Z`;
      await put('deleted', { uid: 'born-2', name, creationTimestamp: day(2) });
      await put('evicted', { uid: 'born-1', name, creationTimestamp: day(1) });
      await put('live', { uid: 'born-3', name, creationTimestamp: day(3) });
      const find = async (limit: number) =>
        (await storage.incarnations(kind, 'a-namespace', name, limit)).map(({ uid, state }) => [uid, state]);
      const all = [
        ['born-3', 'live'],
        ['born-2', 'deleted'],
        ['born-1', 'evicted'],
      ];
      assert.deepEqual(await find(1000), all);
      assert.deepEqual(await find(2), all.slice(0, 2));
      assert.deepEqual(await storage.incarnations(kind, 'another-namespace', name, 10), []);
      await assert.rejects(find(10_001), { code: 'STORAGE_QUERY_UNSUPPORTED' });
    });
  });

  describe(`${suite}, positions`, () => {
    const position = async (): Promise<readonly [string, string] | undefined> => {
      const found = (await storageFor().positions()).find((one) => one.kind === kind.kind);
      return found === undefined ? undefined : [found.resourceVersion, found.at];
    };
    const later = new Date('2026-05-06T08:00:00Z');

    it('move forward, and back only when that was found out later', async () => {
      const storage = storageFor();
      await storage.recordPosition(kind, { resourceVersion: '9007199254740993', at });
      assert.deepEqual(await position(), ['9007199254740993', atText]);
      await storage.recordPosition(kind, { resourceVersion: '9007199254740992', at });
      assert.deepEqual(await position(), ['9007199254740993', atText]);
      await storage.recordPosition(kind, { resourceVersion: '9007199254740994', at });
      assert.deepEqual(await position(), ['9007199254740994', atText]);
      await storage.recordPosition(kind, { resourceVersion: '7', at: later });
      assert.deepEqual(await position(), ['7', '2026-05-06T08:00:00.000000Z']);
    });

    it('of parts of a kind become that of the kind once each part has one, as the lowest and the oldest of them', async () => {
      const storage = storageFor();
      const job = kindNamed('RayJob');
      const ofJob = async (): Promise<readonly string[]> => {
        const found = (await storage.positions()).find((one) => one.kind === job.kind);
        return found === undefined ? [] : [found.resourceVersion, found.at];
      };
      await storage.recordPosition(job, {
        resourceVersion: '30',
        at: later,
        part: { buckets: [0, 2], of: 3, changed: '' },
      });
      assert.deepEqual(await ofJob(), []);
      await storage.recordPosition(job, { resourceVersion: '20', at, part: { buckets: [1], of: 3, changed: '' } });
      assert.deepEqual(await ofJob(), ['20', atText]);
      await storage.recordPosition(job, {
        resourceVersion: '40',
        at: later,
        part: { buckets: [1], of: 3, changed: '' },
      });
      assert.deepEqual(await ofJob(), ['30', '2026-05-06T08:00:00.000000Z']);
      await storage.recordPosition(job, {
        resourceVersion: '50',
        at: later,
        part: { buckets: [0], of: 3, changed: '' },
      });
      assert.deepEqual(await ofJob(), ['30', '2026-05-06T08:00:00.000000Z']);
    });

    it('of parts say what the newest change is that any of them has seen, of kinds where one has', async () => {
      const storage = storageFor();
      const cluster = kindNamed('Cluster');
      const note = (bucket: number, changed: string, noted = at): Promise<void> =>
        storage.recordPosition(cluster, {
          ...{ resourceVersion: '60', at: noted },
          part: { buckets: [bucket], of: 2, changed },
        });
      assert.equal((await storage.newestChanges()).get('Cluster'), undefined);
      await note(0, '');
      assert.equal((await storage.newestChanges()).get('Cluster'), undefined);
      await note(0, '55');
      await note(1, '9', later);
      assert.equal((await storage.newestChanges()).get('Cluster'), '55');
      await note(1, '9007199254740993');
      assert.equal((await storage.newestChanges()).get('Cluster'), '9007199254740993');
    });

    it('are one per kind, in the order of the kinds', async () => {
      await storageFor().recordPosition(kindNamed('Project'), { resourceVersion: '1', at });
      const kinds = (await storageFor().positions()).map((one) => one.kind);
      assert.deepEqual(kinds, ['Cluster', 'Project', 'RayJob']);
    });
  });

  describe(`${suite}, replace`, () => {
    const damaged = { uid: 'replaced', resourceVersion: '900', labels: { old: 'yes', kept: 'before' } };
    const stored = () => storageFor().getById(kind, damaged.uid);

    it('writes a lower version over a row that is as expected, whatever its state, with its labels', async () => {
      for (const state of ['live', 'evicting', 'deleted', 'evicted'] as const) {
        await put(state, damaged);
        const row = rowOf({ ...damaged, resourceVersion: '7', labels: { kept: 'after' } });
        assert.equal(await storageFor().replace(row, '900', { state: 'live' }), 'updated');
        const now = await stored();
        assert.deepEqual(
          [now?.state, now?.resourceVersion, now?.deleteTime, now?.evictTime],
          ['live', '7', undefined, undefined],
        );
        assert.deepEqual(now?.labels, { kept: 'after' });
        assert.equal(now.contentHash, row.contentHash);
      }
    });

    it('keeps the intent to evict where it is told to, so that the end of the object is an eviction', async () => {
      for (const state of ['live', 'evicting', 'deleted', 'evicted'] as const) {
        await put(state, damaged);
        const row = rowOf({ ...damaged, resourceVersion: '7' });
        assert.equal(await storageFor().replace(row, '900', { state: 'evicting', at }), 'updated');
        assert.deepEqual([(await stored())?.state, (await stored())?.resourceVersion], ['evicting', '7']);
        assert.equal(await storageFor().finish(row, at), 'updated');
        assert.deepEqual([(await stored())?.state, (await stored())?.deleteTime], ['evicted', undefined]);
      }
    });

    it('leaves a row alone that has changed meanwhile, and creates no row where there is none', async () => {
      const as = { state: 'live' } as const;
      await put('live', { ...damaged, resourceVersion: '901' });
      assert.equal(await storageFor().replace(rowOf({ ...damaged, resourceVersion: '8' }), '900', as), 'stale');
      assert.equal((await stored())?.resourceVersion, '901');
      assert.equal(await storageFor().replace(rowOf({ uid: 'nowhere' }), '10', as), 'stale');
      assert.equal(await storageFor().getById(kind, 'nowhere'), undefined);
    });
  });
}
