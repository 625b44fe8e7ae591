import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { type NameBook, recall } from '../../../src/gitops/remembered-names.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import type { Tombstone, TombstoneQuery } from '../../../src/storage/metadata-storage.ts';
import { NameKeeper } from '../../../src/sync/name-keeper.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aModel, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const { signal } = new AbortController();
const UID = aModel().metadata.uid;
const conflict = new KubeError('Conflict', 'somebody else was faster');
const forbidden = new KubeError('Forbidden', 'no');

/** One ConfigMap that checks the resourceVersion of whoever writes it. */
class Book {
  data: NameBook = {};
  writes = 0;
  failures: KubeError[] = [];

  get = (): Promise<KubernetesObject> => Promise.resolve(this.#object());

  mergePatch = (_ref: unknown, patch: object): Promise<KubernetesObject> => {
    const { metadata, data } = patch as { metadata?: { resourceVersion: string }; data: NameBook };
    const failure = this.failures.shift();
    if (failure !== undefined) return Promise.reject(failure);
    if (metadata !== undefined && metadata.resourceVersion !== String(this.writes)) return Promise.reject(conflict);
    this.writes += 1;
    this.data = { ...this.data, ...data };
    return Promise.resolve(this.#object());
  };

  #object(): KubernetesObject {
    const metadata = { name: 'ingester-names', namespace: 'ns', uid: 'u', resourceVersion: String(this.writes) };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ...this.data } };
  }
}

function setUp(tombstones: readonly Tombstone[] = []) {
  const book = new Book();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const asked: TombstoneQuery[] = [];
  let lost = 0;
  const storage = {
    tombstones: (_kind: unknown, query: TombstoneQuery) => {
      asked.push(query);
      const from = query.after === undefined ? 0 : tombstones.findIndex(({ name }) => name === query.after?.name) + 1;
      return Promise.resolve(tombstones.slice(from, from + query.limit));
    },
  };
  const onLost = (count: number): void => void (lost += count);
  const keeper = new NameKeeper({ client: book, storage, namespace: 'ns', clock, logger, onLost });
  const known = (name = 'a-model') => recall(book.data, { kind: 'Model', namespace: 'a-namespace', name });
  return { book, clock, logger, keeper, known, asked, lost: () => lost };
}

describe('the keeper of names', () => {
  it('writes the names of objects that leave together at once, before it lets any go', async () => {
    const { book, clock, keeper, known } = setUp();
    let released = 0;
    for (const name of ['a-model', 'b-model']) {
      void keeper.remember(modelKind, aModel({ name }), 'evicted').then(() => (released += 1));
    }
    await clock.advance(50);
    assert.deepEqual([released, book.writes], [0, 0]);
    await clock.advance(100);
    assert.deepEqual([released, book.writes], [2, 1]);
    assert.equal(known()?.uid, UID);
    assert.equal(known('b-model')?.end, 'evicted');
  });

  it('remembers the versions of what was deleted', async () => {
    const { clock, keeper, known } = setUp();
    void keeper.remember(modelKind, aModel({}, { revisionId: 7 }), 'deleted');
    await clock.advance(100);
    assert.deepEqual(known(), { uid: UID, end: 'deleted', versions: [7, null] });
  });

  it('writes again where another replica was faster, and loses neither name', async () => {
    const { book, clock, keeper, known } = setUp();
    book.failures = [conflict, conflict];
    void keeper.remember(modelKind, aModel(), 'evicted');
    await clock.advance(100);
    assert.equal(known()?.end, 'evicted');
  });

  it('holds no object whose name cannot be written, says so once and counts each', async () => {
    const { book, clock, keeper, logger, lost } = setUp();
    for (const _round of [1, 2]) {
      book.failures = [forbidden];
      const released = keeper.remember(modelKind, aModel(), 'evicted');
      await clock.advance(100);
      await released;
    }
    assert.equal(lost(), 2);
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });

  it('begins with what was evicted before, page by page, once', async () => {
    const before = Array.from({ length: 2500 }, (_, index) => ({
      ...{ uid: `uid-${index}`, namespace: 'a-namespace', name: `model-${String(index).padStart(4, '0')}` },
      ...{ resourceVersion: '1', evictTime: '2026-01-01T00:00:00.000000Z' },
    }));
    const { keeper, known, asked } = setUp(before);
    await keeper.fill([modelKind], signal);
    assert.equal(known('model-0000')?.uid, 'uid-0');
    assert.equal(known('model-2499')?.end, 'evicted');
    assert.equal(asked.length, 3);
    await keeper.fill([modelKind], signal);
    assert.equal(asked.length, 3);
  });

  it('tries again later where the beginning failed', async () => {
    const { book, clock, keeper } = setUp();
    book.failures = [forbidden];
    const filled = keeper.fill([modelKind], signal);
    await clock.advance(30_000);
    await filled;
    assert.ok(book.data['filled'] !== undefined);
  });
});
