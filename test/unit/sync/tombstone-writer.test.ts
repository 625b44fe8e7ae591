import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { findTombstone, type TombstoneData } from '../../../src/gitops/tombstone-index.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import type { Tombstone, TombstoneQuery } from '../../../src/storage/metadata-storage.ts';
import { TombstoneWriter } from '../../../src/sync/flows/tombstone-writer.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aModel, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const { signal } = new AbortController();
const UID = aModel().metadata.uid;
const conflict = new KubeError('Conflict', 'another client was faster');
const forbidden = new KubeError('Forbidden', 'no');

/** One ConfigMap that checks the resourceVersion of every write. */
class FakeIndex {
  data: TombstoneData = {};
  writes = 0;
  failures: KubeError[] = [];

  get = (): Promise<KubernetesObject> => Promise.resolve(this.#object());

  mergePatch = (_ref: unknown, patch: object): Promise<KubernetesObject> => {
    const { metadata, data } = patch as { metadata?: { resourceVersion: string }; data: TombstoneData };
    const failure = this.failures.shift();
    if (failure !== undefined) return Promise.reject(failure);
    if (metadata !== undefined && metadata.resourceVersion !== String(this.writes)) return Promise.reject(conflict);
    this.writes += 1;
    this.data = { ...this.data, ...data };
    return Promise.resolve(this.#object());
  };

  #object(): KubernetesObject {
    const metadata = { name: 'ingester-tombstones', namespace: 'ns', uid: 'u', resourceVersion: String(this.writes) };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ...this.data } };
  }
}

function setUp(tombstones: readonly Tombstone[] = []) {
  const index = new FakeIndex();
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
  const writer = new TombstoneWriter({ client: index, storage, namespace: 'ns', clock, logger, onLost });
  const known = (name = 'a-model') => findTombstone(index.data, { kind: 'Model', namespace: 'a-namespace', name });
  return { index, clock, logger, writer, known, asked, lost: () => lost };
}

describe('the writer of tombstones', () => {
  it('writes the names of objects that leave together at once, before any object leaves', async () => {
    const { index, clock, writer, known } = setUp();
    let resolved = 0;
    for (const name of ['a-model', 'b-model']) {
      void writer.add(modelKind, aModel({ name }), 'evicted').then(() => (resolved += 1));
    }
    await clock.advance(50);
    assert.deepEqual([resolved, index.writes], [0, 0]);
    await clock.advance(100);
    assert.deepEqual([resolved, index.writes], [2, 1]);
    assert.equal(known()?.uid, UID);
    assert.equal(known('b-model')?.end, 'evicted');
  });

  it('keeps the versions of deleted objects', async () => {
    const { clock, writer, known } = setUp();
    void writer.add(modelKind, aModel({}, { revisionId: 7 }), 'deleted');
    await clock.advance(100);
    assert.deepEqual(known(), { uid: UID, end: 'deleted', versions: [7, null] });
  });

  it('writes again where another replica was faster, and loses neither name', async () => {
    const { index, clock, writer, known } = setUp();
    index.failures = [conflict, conflict];
    void writer.add(modelKind, aModel(), 'evicted');
    await clock.advance(100);
    assert.equal(known()?.end, 'evicted');
  });

  it('holds no object whose name cannot be written, says so once and counts each', async () => {
    const { index, clock, writer, logger, lost } = setUp();
    for (const _round of [1, 2]) {
      index.failures = [forbidden];
      const resolved = writer.add(modelKind, aModel(), 'evicted');
      await clock.advance(100);
      await resolved;
    }
    assert.equal(lost(), 2);
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });

  it('begins with the objects that were evicted before, page by page, once', async () => {
    const before = Array.from({ length: 2500 }, (_, index) => ({
      ...{ uid: `uid-${index}`, namespace: 'a-namespace', name: `model-${String(index).padStart(4, '0')}` },
      ...{ resourceVersion: '1', evictTime: '2026-01-01T00:00:00.000000Z' },
    }));
    const { writer, known, asked } = setUp(before);
    await writer.fill([modelKind], signal);
    assert.equal(known('model-0000')?.uid, 'uid-0');
    assert.equal(known('model-2499')?.end, 'evicted');
    assert.equal(asked.length, 3);
    await writer.fill([modelKind], signal);
    assert.equal(asked.length, 3);
  });

  it('reads the evicted objects again later where the first reading failed', async () => {
    const { index, clock, writer } = setUp();
    index.failures = [forbidden];
    const filled = writer.fill([modelKind], signal);
    await clock.advance(30_000);
    await filled;
    assert.ok(index.data['filled'] !== undefined);
  });
});
