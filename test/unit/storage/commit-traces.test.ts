import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { activeSpan, withSpan } from '../../../src/base/tracing.ts';
import { StorageUnavailableError } from '../../../src/storage/errors.ts';
import type { WriteOutcome } from '../../../src/storage/metadata-storage.ts';
import { tracedCommit } from '../../../src/storage/mysql/store/commit-traces.ts';
import { type PendingWrite, pendingWrite } from '../../../src/storage/mysql/store/pending-write.ts';
import { aModelRow } from '../../support/objects.ts';
import { type RecordedSpan, RecordingTracer } from '../../support/recording-tracer.ts';

function setUp(attempts: number) {
  const tracer = new RecordingTracer();
  for (let index = 0; index < attempts; index += 1) tracer.start('reconcile');
  const origins = tracer.named('reconcile');
  const write = (origin: RecordedSpan | undefined, index: number): PendingWrite => ({
    ...pendingWrite(aModelRow({ uid: `uid-${index}` }), { statement: 'write', state: 'live' }),
    origin,
  });
  return { tracer, origins, write };
}

const inserted = (writes: readonly PendingWrite[]): readonly WriteOutcome[] => writes.map(() => 'inserted');

describe('the span of a transaction', () => {
  it('is one for all of its objects: a child of the first, linked with the others in both directions', async () => {
    const { tracer, origins, write } = setUp(3);
    const writes = [undefined, ...origins].map(write);
    const ids = (spans: readonly { readonly spanId: string }[]) => spans.map(({ spanId }) => spanId);
    const [first, ...others] = origins.map(({ reference }) => reference.spanId);
    let inside: unknown;
    const outcomes = await withSpan(origins[2], () =>
      tracedCommit(tracer, writes, () => {
        inside = activeSpan();
        return Promise.resolve(inserted(writes));
      }),
    );
    const commit = tracer.only('commit');
    assert.deepEqual(outcomes, inserted(writes));
    assert.equal(inside, commit);
    assert.equal(commit.start.parent?.spanId, first);
    assert.deepEqual(ids(commit.links), others);
    const own = [commit.reference.spanId];
    assert.deepEqual(
      origins.map(({ links }) => ids(links)),
      [[], own, own],
    );
    assert.deepEqual(commit.attributes, {
      'db.system.name': 'mysql',
      'ingester.batch.rows': 4,
      'ingester.batch.traced': 3,
    });
    assert.deepEqual(
      origins.map(({ attributes }) => attributes['ingester.write']),
      Array(3).fill('inserted'),
    );
    assert.equal(commit.isOver, true);
  });

  it('has the code of a failure, and no span is left open', async () => {
    const { tracer, origins, write } = setUp(1);
    const away = (): Promise<never> => Promise.reject(new StorageUnavailableError('gone', undefined));
    await assert.rejects(tracedCommit(tracer, origins.map(write), away));
    assert.deepEqual(
      tracer.named('commit').map(({ failure, isOver }) => [failure, isOver]),
      [['STORAGE_UNAVAILABLE', true]],
    );
  });

  it('is not there where no object is traced; the transaction is outside of the attempt that starts it', async () => {
    const { tracer, write } = setUp(0);
    const other = tracer.start('reconcile');
    const writes = [write(undefined, 1)];
    let inside: unknown = 'not run';
    await withSpan(other, () =>
      tracedCommit(tracer, writes, () => {
        inside = activeSpan();
        return Promise.resolve(inserted(writes));
      }),
    );
    assert.equal(inside, undefined);
    assert.deepEqual(tracer.named('commit'), []);
    assert.deepEqual(await tracedCommit(undefined, writes, () => Promise.resolve(inserted(writes))), ['inserted']);
  });
});
