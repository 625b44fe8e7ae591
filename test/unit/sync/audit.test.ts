import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER } from '../../../src/api/names.ts';
import type { ObjectMeta } from '../../../src/api/object.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { StorageUnavailableError } from '../../../src/storage/errors.ts';
import { auditKind } from '../../../src/sync/audit/audit.ts';
import { openFindings, type Repaired, repairKind } from '../../../src/sync/audit/audit-repair.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow, deleting, immutable, modelKind } from '../../support/objects.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

function setUp() {
  const api = new FakeApiServer();
  api.install('models');
  const models = api.of('models');
  const storage = new MemoryStorage();
  const { signal } = new AbortController();
  const waits = { settleMs: 0, pageWaitMs: 0 };
  const context = { kind: modelKind, resource, client: api, storage, clock: systemClock, signal, ...waits };
  const audit = () => auditKind(context);
  const put = (name: string, metadata: Partial<ObjectMeta> = {}) =>
    models.put(aModel({ name, uid: name, ...metadata }));
  const store = (name: string, resourceVersion: string) =>
    storage.upsert(aModelRow({ name, uid: name, resourceVersion }));
  /** An object and the row that is a copy of it. */
  const both = async (name: string, metadata: Partial<ObjectMeta> = {}) => {
    const object = put(name, metadata);
    await storage.upsert(aModelRow({ ...object.metadata }));
    return object;
  };
  const found = async () => (await audit()).findings.map(({ finding, name }) => `${finding} ${name}`);
  const repair = async (
    more: { readonly restored?: 'set-back'; readonly maxPercent?: number; readonly wentBackAt?: Date } = {},
  ) => {
    const { restored = 'keep', maxPercent = 10, wentBackAt } = more;
    const wentBack = { storageWentBackAt: () => Promise.resolve(wentBackAt) };
    const shared = {
      ...wentBack,
      encode: encodeObject,
      kinds: [{ kind: modelKind, resource }],
      mayAddFinalizer: true,
    } as const;
    const options = { ...context, ...shared, limits: { maxPercent }, restored } as const;
    return (await repairKind(await audit(), options)).map(({ finding, outcome }) => `${finding} ${outcome}`);
  };
  const state = async (name: string) => (await storage.getById(modelKind, name))?.state;
  return { api, models, storage, audit, put, store, both, found, repair, state };
}

describe('auditKind', () => {
  it('finds nothing where rows and objects agree, and counts both', async () => {
    const { audit, both, storage } = setUp();
    await both('live');
    await both('leaving', { annotations: deleting });
    await storage.requestEviction(aModelRow({ name: 'old', uid: 'old' }), new Date());
    await storage.finish(aModelRow({ name: 'old', uid: 'old' }), new Date());
    const { findings, objects, rows, skipped } = await audit();
    assert.deepEqual([findings, objects, rows, skipped], [[], 2, 2, undefined]);
  });

  it('finds each difference and names it', async () => {
    const { found, put, store, both } = setUp();
    put('missing');
    put('stale');
    await store('stale', '1');
    await store('extra', '5');
    put('ahead');
    await store('ahead', '999');
    await both('bare', { finalizers: [] });
    assert.deepEqual((await found()).sort(), [
      'ahead ahead',
      'extra extra',
      'missing missing',
      'stale stale',
      'unguarded bare',
    ]);
  });

  it('finds a row that ended while its object lives', async () => {
    const { found, put, storage } = setUp();
    const { metadata } = put('revived');
    await storage.delete(aModelRow({ ...metadata }), new Date());
    assert.deepEqual(await found(), ['ahead revived']);
  });

  it('finds nothing wrong with an object whose write is on its way', async () => {
    const { found, put, storage, models } = setUp();
    const { metadata } = put('marked', { annotations: deleting });
    await storage.delete(aModelRow({ ...metadata }), new Date());
    put('held', { finalizers: [FINALIZER, 'other/finalizer'] });
    models.remove('a-namespace/held');
    await storage.finish(aModelRow({ ...models.object('a-namespace/held')?.metadata }), new Date());
    assert.deepEqual(await found(), []);
  });

  it('looks again before it reports: an object that was stored meanwhile is no finding', async () => {
    const { api, audit, put, storage } = setUp();
    put('late');
    const get = api.get.bind(api);
    api.get = async (ref) => {
      await storage.upsert(aModelRow({ ...(await get(ref)).metadata }));
      return get(ref);
    };
    const getById = storage.getById.bind(storage);
    storage.getById = async (kind, uid) => {
      await api.get({ resource, namespace: 'a-namespace', name: 'late' });
      return getById(kind, uid);
    };
    assert.deepEqual((await audit()).findings, []);
  });

  it('finds rows that cannot be read, of evicted objects too', async () => {
    const { found, storage } = setUp();
    const write = async (name: string, change: object) => {
      const row = { ...aModelRow({ name, uid: name }), ...change };
      await storage.requestEviction(row, new Date());
      await storage.finish(row, new Date());
    };
    await write('good', {});
    await write('without-proto', { proto: new Uint8Array() });
    await write('no-json', { json: '{' });
    await write('other-json', { json: aModelRow({ name: 'no-json', uid: 'x' }).json });
    await write('changed-json', {
      json: aModelRow({ name: 'changed-json', uid: 'changed-json' }, { algorithm: 'x' }).json,
    });
    await write('no-proto', { proto: new Uint8Array([255, 255, 255]) });
    assert.deepEqual((await found()).sort(), [
      'unreadable changed-json',
      'unreadable no-json',
      'unreadable no-proto',
      'unreadable other-json',
    ]);
  });

  it('keeps only the identity of the rows it found: whole rows of many findings would fill the memory', async () => {
    const { audit, put, store, storage } = setUp();
    put('ahead');
    await store('ahead', '999');
    await storage.upsert({ ...aModelRow({ name: 'damaged', uid: 'damaged' }), json: '{' });
    const { findings } = await audit();
    assert.deepEqual(
      findings
        .map(({ finding, row }) => [
          finding,
          Object.keys(row ?? {})
            .sort()
            .join(),
        ])
        .sort(),
      ['ahead', 'extra', 'unreadable'].map((finding) => [finding, 'name,namespace,resourceVersion,state,uid']),
    );
  });

  it('compares nothing while the CRD is missing or being deleted', async () => {
    for (const change of ['missing', 'terminating'] as const) {
      const { api, audit, store } = setUp();
      await store('row', '1');
      if (change === 'missing') api.of('customresourcedefinitions').remove('/models.michelangelo.api');
      else api.install('models', { deletionTimestamp: '2026-01-03T00:00:00Z' });
      const { skipped, findings } = await audit();
      assert.deepEqual([skipped, findings], [change, []]);
    }
  });

  it('fails where MySQL or the API server does not answer: an outage is no finding', async () => {
    const { audit, models, storage, both } = setUp();
    await both('one');
    models.failures.push({ call: 'list', error: new KubeError('Unavailable', 'down') });
    await assert.rejects(audit, KubeError);
    storage.down = true;
    await assert.rejects(audit, StorageUnavailableError);
  });
});

describe('repairKind', () => {
  it('stores missing and stale objects, and guards unguarded ones', async () => {
    const { repair, put, store, both, found, models } = setUp();
    put('missing');
    put('stale');
    await store('stale', '1');
    await both('bare', { finalizers: [] });
    assert.deepEqual((await repair()).sort(), ['missing repaired', 'stale repaired', 'unguarded repaired']);
    assert.deepEqual(models.object('a-namespace/bare')?.metadata.finalizers, [FINALIZER]);
    await repair();
    assert.deepEqual(await found(), []);
  });

  it('ends rows without an object, but not a whole table and not more than the limit', async () => {
    const few = setUp();
    await few.both('here');
    await few.store('gone', '5');
    assert.deepEqual(await few.repair(), ['extra repaired']);
    assert.equal(await few.state('gone'), 'deleted');
    const many = setUp();
    for (const name of ['a', 'b', 'c']) await many.store(name, '5');
    assert.deepEqual(new Set(await many.repair({ maxPercent: 100 })), new Set(['extra too-many']));
    assert.equal(await many.state('a'), 'live');
  });

  it('keeps rows without an object as evicted where MySQL has lost transactions since', async () => {
    const given = setUp();
    await given.both('here');
    await given.store('gone', '5');
    assert.deepEqual(await given.repair({ wentBackAt: new Date('2100-01-01T00:00:00Z') }), ['extra repaired']);
    assert.equal(await given.state('gone'), 'evicted');
  });

  it('ends archives of the original, however many, where the cluster has what it should have', async () => {
    const given = setUp();
    for (const name of ['live-1', 'live-2']) await given.both(name);
    for (let index = 0; index < 40; index += 1)
      given.storage.adopt(aModelRow({ name: `old-${index}`, uid: `old-${index}` }));
    assert.deepEqual(new Set(await given.repair()), new Set(['extra repaired']));
    assert.equal(await given.state('old-0'), 'evicted');
    assert.equal(await given.state('live-1'), 'live');
  });

  it('ends no archive of the original in front of a cluster that is not shown to be theirs, until all is allowed', async () => {
    const given = setUp();
    await given.both('own');
    await given.store('foreign', '5');
    for (const name of ['old-1', 'old-2']) given.storage.adopt(aModelRow({ name, uid: name }));
    assert.deepEqual((await given.repair({ maxPercent: 40 })).sort(), [
      'extra repaired',
      'extra too-many',
      'extra too-many',
    ]);
    assert.equal(await given.state('old-1'), 'evicting');
    const alone = setUp();
    for (const name of ['old-1', 'old-2']) alone.storage.adopt(aModelRow({ name, uid: name }));
    assert.deepEqual(new Set(await alone.repair({ maxPercent: 99 })), new Set(['extra too-many']));
    assert.deepEqual(new Set(await alone.repair({ maxPercent: 100 })), new Set(['extra repaired']));
    assert.equal(await alone.state('old-1'), 'evicted');
  });

  it('sets rows back to a restored cluster only when asked to', async () => {
    const { repair, put, store, found, storage } = setUp();
    const { metadata } = put('ahead');
    await store('ahead', '999');
    assert.deepEqual(await repair(), ['ahead not-asked']);
    assert.deepEqual(await found(), ['ahead ahead']);
    assert.deepEqual(await repair({ restored: 'set-back' }), ['ahead repaired']);
    assert.deepEqual(await found(), []);
    assert.equal((await storage.getById(modelKind, 'ahead'))?.resourceVersion, metadata.resourceVersion);
  });

  it('sets rows of objects that are leaving back too, and keeps their eviction an eviction', async () => {
    const terminating = { deletionTimestamp: '2026-01-03T00:00:00Z' };
    for (const [metadata, before, after] of [
      [terminating, 'deleted', 'live'],
      [terminating, 'evicted', 'evicting'],
      [terminating, 'evicting', 'evicting'],
      [{ annotations: deleting }, 'deleted', 'live'],
      [{ annotations: deleting }, 'evicted', 'live'],
      [{ annotations: immutable }, 'evicted', 'evicting'],
      [{}, 'evicted', 'live'],
    ] as const) {
      const { repair, put, storage, found, state } = setUp();
      const { metadata: current } = put('stuck', metadata);
      const row = { ...aModelRow({ ...current, name: 'stuck', uid: 'stuck' }), resourceVersion: '999' };
      if (before === 'deleted') await storage.delete(row, new Date());
      else await storage.requestEviction(row, new Date());
      if (before === 'evicted') await storage.finish(row, new Date());
      assert.deepEqual(await found(), ['ahead stuck']);
      assert.deepEqual(
        await repair({ restored: 'set-back' }),
        ['ahead repaired'],
        `${JSON.stringify(metadata)} ${before}`,
      );
      assert.equal(await state('stuck'), after);
      assert.deepEqual(await found(), []);
    }
  });

  it('writes an unreadable row of an object that is kept in etcd anew, with its intent to evict', async () => {
    const { repair, put, storage, found, state } = setUp();
    const { metadata } = put('kept', { annotations: immutable });
    await storage.requestEviction({ ...aModelRow({ ...metadata }), json: '{' }, new Date());
    assert.deepEqual(await repair(), ['unreadable repaired']);
    assert.deepEqual(await found(), []);
    assert.equal(await state('kept'), 'evicting');
  });

  it('writes an unreadable row anew from its object, and gives up where the object is gone', async () => {
    const { repair, put, storage, found } = setUp();
    const { metadata } = put('damaged');
    await storage.upsert({ ...aModelRow({ ...metadata }), json: '{' });
    const archived = { ...aModelRow({ name: 'archived', uid: 'archived' }), json: '{' };
    await storage.requestEviction(archived, new Date());
    await storage.finish(archived, new Date());
    assert.deepEqual((await repair()).sort(), ['unreadable impossible', 'unreadable repaired']);
    assert.deepEqual(await found(), ['unreadable archived']);
  });

  it('leaves to the reconciler objects that are leaving etcd', async () => {
    const { repair, put } = setUp();
    put('marked', { annotations: deleting });
    put('evicting', { annotations: immutable });
    assert.deepEqual(await repair(), ['missing passing', 'missing passing']);
  });
});

describe('openFindings', () => {
  const found = (outcome: Repaired['outcome'], name: string, rowVersion?: string): Repaired => {
    const identity = { uid: name, namespace: 'default', name };
    const row =
      rowVersion === undefined ? undefined : ({ ...identity, resourceVersion: rowVersion, state: 'live' } as const);
    return { finding: row === undefined ? 'missing' : 'stale', ...identity, detail: '', row, outcome };
  };
  const open = (round: readonly Repaired[], before?: readonly Repaired[]): readonly string[] =>
    openFindings(round, before).map(({ name }) => name);

  it('are all of the first round, whose repairs were not looked at yet', () => {
    assert.deepEqual(open([found('repaired', 'a'), found('passing', 'b')]), ['a', 'b']);
  });

  it('leave out what is new, what goes on changing, and what is leaving', () => {
    const before = [found('repaired', 'changing', '3'), found('passing', 'leaving', '1')];
    const round = [found('repaired', 'new'), found('repaired', 'changing', '7'), found('passing', 'leaving', '1')];
    assert.deepEqual(open(round, before), []);
  });

  it('keep what a repair did not change, and what was not repaired', () => {
    const before = [found('repaired', 'lost again'), found('repaired', 'stuck', '3')];
    const round = [
      found('repaired', 'lost again'),
      found('repaired', 'stuck', '3'),
      found('impossible', 'broken', '1'),
    ];
    assert.deepEqual(open(round, before), ['lost again', 'stuck', 'broken']);
  });
});
