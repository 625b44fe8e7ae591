import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER, UNGUARDED_ANNOTATION } from '../../../src/api/names.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { Coverage } from '../../../src/sync/startup/coverage.ts';
import { MissedDeletes } from '../../../src/sync/startup/missed-deletes.ts';
import { aModel, deleting, immutable } from '../../support/objects.ts';

const KEY = 'a-namespace/a-model';
const bare = asWatched(aModel({ finalizers: [] }));

describe('Coverage', () => {
  it('counts an object as unguarded from its creation until it has the finalizer', () => {
    const coverage = new Coverage();
    coverage.add(bare);
    assert.deepEqual([...coverage.unguarded], [KEY]);
    coverage.update(bare, asWatched(aModel({ finalizers: ['other/finalizer', FINALIZER] })));
    assert.equal(coverage.unguarded.size, 0);
  });

  it('counts an object again whose finalizer a user took off, and not once it is gone', () => {
    const coverage = new Coverage();
    coverage.add(asWatched(aModel()));
    coverage.update(asWatched(aModel()), bare);
    assert.equal(coverage.unguarded.size, 1);
    coverage.delete(bare);
    assert.equal(coverage.unguarded.size, 0);
  });

  it('leaves out what may not have the finalizer: objects being deleted, and objects that a user opted out', () => {
    const coverage = new Coverage();
    coverage.add(asWatched(aModel({ finalizers: ['other/finalizer'], deletionTimestamp: '2026-01-03T00:00:00Z' })));
    assert.equal(coverage.unguarded.size, 0);
    coverage.add(asWatched(aModel({ finalizers: [], annotations: { [UNGUARDED_ANNOTATION]: 'true' } })));
    assert.equal(coverage.unguarded.size, 0);
    coverage.add(asWatched(aModel({ finalizers: [], annotations: { [UNGUARDED_ANNOTATION]: 'yes' } })));
    assert.equal(coverage.unguarded.size, 1);
  });

  it('calls plain only what needs a copy and nothing else', () => {
    const coverage = new Coverage();
    const cases = [{ annotations: deleting }, { annotations: immutable }, { finalizers: [] }];
    for (const metadata of [...cases, { deletionTimestamp: '2026-01-03T00:00:00Z' }]) {
      coverage.add(asWatched(aModel(metadata)));
      assert.equal(coverage.isPlain(KEY), false);
    }
    coverage.add(asWatched(aModel()));
    assert.equal(coverage.isPlain(KEY), true);
  });

  it('keeps what it knows of an object that is told to it after it was let go', () => {
    const coverage = new Coverage();
    coverage.add(bare);
    coverage.add({ key: KEY, identity: bare.identity, watched: undefined });
    assert.deepEqual([...coverage.unguarded], [KEY]);
  });
});

describe('MissedDeletes', () => {
  const gone = { uid: aModel().metadata.uid, resourceVersion: '10' };

  it('names each object that left, once', () => {
    const missedDeletes = new MissedDeletes();
    missedDeletes.begin();
    missedDeletes.delete(asWatched(aModel()));
    assert.deepEqual(missedDeletes.take(KEY), [{ ...gone, finished: false }]);
    assert.deepEqual(missedDeletes.take(KEY), []);
  });

  it('leaves out an object whose final state is stored, whichever is heard of first', () => {
    const missedDeletes = new MissedDeletes();
    missedDeletes.begin();
    missedDeletes.noteFinished(gone);
    missedDeletes.delete(asWatched(aModel()));
    assert.deepEqual(missedDeletes.take(KEY), []);
    missedDeletes.delete(asWatched(aModel()));
    missedDeletes.noteFinished(gone);
    assert.deepEqual(missedDeletes.take(KEY), []);
  });

  it('keeps every incarnation of a name, and what could not be dealt with', () => {
    const missedDeletes = new MissedDeletes();
    missedDeletes.begin();
    missedDeletes.delete(asWatched(aModel()));
    missedDeletes.putBack(KEY, missedDeletes.take(KEY));
    missedDeletes.delete(asWatched(aModel({ uid: 'second', resourceVersion: '20' })));
    assert.deepEqual(
      missedDeletes.take(KEY).map(({ uid }) => uid),
      [gone.uid, 'second'],
    );
  });
});
