import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta } from '../../../src/api/object.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { StorageUnavailableError } from '../../../src/storage/errors.ts';
import { Difference, type DifferenceOptions } from '../../../src/sync/startup/difference.ts';
import { judgeMissedDeletes } from '../../../src/sync/startup/mark-missed-deletes.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

function setUp(own: Partial<DifferenceOptions> = {}) {
  const api = new FakeApiServer();
  api.install('models');
  const models = api.of('models');
  const storage = new MemoryStorage();
  const logger = new RecordingLogger();
  const listed = new IdentityStore();
  const difference = new Difference({
    kind: modelKind,
    resource,
    kinds: [{ kind: modelKind, resource }],
    client: api,
    storage,
    clock: new FakeClock(),
    listed,
    limits: { maxPercent: 10 },
    storageWentBackAt: () => Promise.resolve(undefined),
    logger,
    ...own,
  });
  /** An object that the list showed, as the API server has it. */
  const list = (metadata: Partial<ObjectMeta>) => {
    const object = models.put(aModel(metadata));
    listed.set(asWatched(object));
    return object;
  };
  const store = (metadata: Partial<ObjectMeta>) => storage.upsert(aModelRow(metadata));
  const state = async (uid: string) => (await storage.getById(modelKind, uid))?.state;
  return { api, models, storage, logger, difference, list, store, state };
}

/** Ten objects that are where they should be, so that one missing is not too many. */
async function withOthers({ list, store }: ReturnType<typeof setUp>): Promise<void> {
  for (let index = 0; index < 10; index += 1) {
    const { metadata } = list({ name: `other-${index}`, uid: `other-${index}` });
    await store({ name: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion });
  }
}

describe('Difference', () => {
  it('keeps as evicted what is older than a loss of MySQL, which may have lost its eviction, and ends what is newer', async () => {
    const given = setUp({ storageWentBackAt: () => Promise.resolve(new Date('2026-03-02T00:00:00Z')) });
    await withOthers(given);
    await given.store({ name: 'before', uid: 'before', creationTimestamp: '2026-03-01T00:00:00Z' });
    await given.store({ name: 'after', uid: 'after', creationTimestamp: '2026-03-03T00:00:00Z' });
    await given.difference.load();
    assert.equal(await given.difference.repairMissedDeletes(), 2);
    assert.deepEqual([await given.state('before'), await given.state('after')], ['evicted', 'deleted']);
  });

  it('ends no row where nothing tells whether MySQL has lost transactions', async () => {
    const given = setUp({ storageWentBackAt: () => Promise.reject(new StorageUnavailableError('away', undefined)) });
    await withOthers(given);
    await given.store({ name: 'gone', uid: 'gone' });
    await given.difference.load();
    await assert.rejects(() => given.difference.repairMissedDeletes(), StorageUnavailableError);
    assert.equal(await given.state('gone'), 'live');
  });

  it('ends the row of an object that was deleted unseen, as an eviction where that was intended', async () => {
    const given = setUp();
    const { difference, store, storage, state, logger } = given;
    await withOthers(given);
    await store({ name: 'gone', uid: 'gone' });
    await storage.requestEviction(aModelRow({ name: 'going', uid: 'going' }), new Date());
    await difference.load();
    assert.equal(await difference.repairMissedDeletes(), 2);
    assert.deepEqual([await state('gone'), await state('going')], ['deleted', 'evicted']);
    assert.equal(storage.deleteReason(modelKind, 'gone'), 'missing from the API server at the start');
    assert.equal(await state('other-0'), 'live');
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });

  it('ends archives of the original, however many, but only those that are in no cluster', async () => {
    const given = setUp();
    await withOthers(given);
    const adopt = (name: string) => given.storage.adopt(aModelRow({ name, uid: name }));
    for (let index = 0; index < 40; index += 1) adopt(`old-${index}`);
    adopt('there');
    given.models.put(aModel({ name: 'there', uid: 'there' }));
    await given.difference.load();
    assert.equal(await given.difference.repairMissedDeletes(), 40);
    assert.deepEqual([await given.state('old-39'), await given.state('there')], ['evicted', 'evicting']);
  });

  it('ends no archive of the original while the API server is away, or in front of another cluster', async () => {
    const away = setUp();
    await withOthers(away);
    away.storage.adopt(aModelRow({ name: 'old', uid: 'old' }));
    await away.difference.load();
    away.models.failures.push({ call: 'get', error: new KubeError('Unavailable', 'down') });
    await assert.rejects(() => away.difference.repairMissedDeletes(), KubeError);
    assert.equal(await away.state('old'), 'evicting');
    const other = setUp();
    for (const name of ['old-1', 'old-2']) other.storage.adopt(aModelRow({ name, uid: name }));
    await other.difference.load();
    assert.equal(await other.difference.repairMissedDeletes(), 0);
    assert.equal(await other.state('old-1'), 'evicting');
    assert.match(other.logger.messages().join('\n'), /nothing shows that this is their cluster/);
  });

  it('believes the API server, not the list: an object that is there keeps its row', async () => {
    const given = setUp();
    await withOthers(given);
    given.models.put(aModel({ name: 'there', uid: 'there' }));
    await given.store({ name: 'there', uid: 'there' });
    await given.difference.load();
    assert.equal(await given.difference.repairMissedDeletes(), 0);
    assert.equal(await given.state('there'), 'live');
  });

  it('asks the API server for no row whose object was listed, also under another name than the row has', async () => {
    const given = setUp();
    await withOthers(given);
    given.list({ name: 'now', uid: 'one' });
    await given.store({ name: 'then', uid: 'one' });
    assert.deepEqual(await given.difference.load(), { objects: 11, rows: 11, missing: 0 });
    assert.equal(await given.difference.repairMissedDeletes(), 0);
    assert.equal(await given.state('one'), 'live');
  });

  it('ends the row of an incarnation whose name another object has now', async () => {
    const given = setUp();
    await withOthers(given);
    given.models.put(aModel({ name: 'reborn', uid: 'second' }));
    await given.store({ name: 'reborn', uid: 'first' });
    await given.difference.load();
    assert.equal(await given.difference.repairMissedDeletes(), 1);
    assert.equal(await given.state('first'), 'deleted');
  });

  it('archives what went with an earlier definition, and marks deleted what is younger than this one', async () => {
    const given = setUp();
    given.api.install('models', { creationTimestamp: '2026-01-03T00:00:00Z' });
    await withOthers(given);
    await given.store({ name: 'older', uid: 'older', creationTimestamp: '2026-01-02T23:59:59Z' });
    await given.store({ name: 'younger', uid: 'younger', creationTimestamp: '2026-01-03T00:00:00Z' });
    await given.difference.load();
    assert.equal(await given.difference.repairMissedDeletes(), 2);
    assert.deepEqual([await given.state('older'), await given.state('younger')], ['evicted', 'deleted']);
  });

  it('marks nothing where the API server does not answer, and says so by failing', async () => {
    const given = setUp();
    await withOthers(given);
    await given.store({ name: 'gone', uid: 'gone' });
    await given.difference.load();
    given.models.failures.push({ call: 'get', error: new KubeError('Unavailable', 'down') });
    await assert.rejects(() => given.difference.repairMissedDeletes(), KubeError);
    assert.equal(await given.state('gone'), 'live');
  });

  for (const [name, change] of Object.entries({
    missing: (api: FakeApiServer) => api.of('customresourcedefinitions').remove('/models.michelangelo.api'),
    'being deleted': (api: FakeApiServer) => api.install('models', { deletionTimestamp: '2026-01-03T00:00:00Z' }),
  })) {
    it(`marks nothing while the CRD is ${name}`, async () => {
      const given = setUp();
      await withOthers(given);
      await given.store({ name: 'gone', uid: 'gone' });
      await given.difference.load();
      change(given.api);
      assert.equal(await given.difference.repairMissedDeletes(), 0);
      assert.equal(await given.state('gone'), 'live');
    });
  }

  it('marks nothing in front of a cluster that has none of the objects, and says what to check', async () => {
    const { difference, store, state, logger, models } = setUp();
    for (const uid of ['one', 'two']) await store({ name: uid, uid });
    await difference.load();
    assert.equal(await difference.repairMissedDeletes(), 0);
    assert.equal(await state('one'), 'live');
    assert.match(logger.messages().join('\n'), /cluster and database belong together/);
    assert.deepEqual(models.calls, []);
  });
});

describe('the difference of one of several replicas', () => {
  const isOwn = ({ uid }: { readonly uid: string }): boolean => !uid.startsWith("another's");

  it('leaves the rows of the others alone, although it has listed none of their objects, and they are gone', async () => {
    const given = setUp({ keeps: isOwn });
    const { difference, store, state } = given;
    await withOthers(given);
    await store({ name: 'gone', uid: 'gone' });
    for (let index = 0; index < 5; index += 1) await store({ name: `another-${index}`, uid: `another's-${index}` });
    assert.deepEqual(await difference.load(), { objects: 10, rows: 11, missing: 1 });
    assert.equal(await difference.repairMissedDeletes(), 1);
    assert.equal(await state('gone'), 'deleted');
    for (let index = 0; index < 5; index += 1) assert.equal(await state(`another's-${index}`), 'live');
  });

  it('believes its share of what all of them may end at once', async () => {
    for (const [missing, ended] of [
      [4, 4],
      [5, 0],
    ] as const) {
      const given = setUp({ keeps: isOwn, limits: { maxPercent: 10, replicas: () => 3 } });
      const { difference, store } = given;
      await withOthers(given);
      for (let index = 0; index < missing; index += 1) await store({ name: `gone-${index}`, uid: `gone-${index}` });
      await difference.load();
      assert.equal(await difference.repairMissedDeletes(), ended);
    }
  });
});

describe('judgeMissedDeletes', () => {
  const verdicts = [
    { rows: 0, missed: 0, verdict: 'mark' },
    { rows: 1, missed: 1, verdict: 'mark' },
    { rows: 2, missed: 2, verdict: 'nothing-in-common' },
    { rows: 11, missed: 10, verdict: 'mark' },
    { rows: 100, missed: 11, verdict: 'too-many' },
    { rows: 1000, missed: 100, verdict: 'mark' },
    { rows: 1000, missed: 101, verdict: 'too-many' },
  ] as const;
  for (const { rows, missed, verdict } of verdicts) {
    it(`says ${verdict} for ${missed} of ${rows} rows at 10 %`, () => {
      assert.equal(judgeMissedDeletes({ rows, missed }, { maxPercent: 10 }), verdict);
    });
  }

  it('never marks a whole table of more than one, whatever the limit', () => {
    assert.equal(judgeMissedDeletes({ rows: 50, missed: 50 }, { maxPercent: 100 }), 'nothing-in-common');
  });
});
