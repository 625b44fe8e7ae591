import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  addTombstones,
  findTombstone,
  type TombstoneData,
  type TombstoneEntry,
  versionsOf,
} from '../../../src/gitops/tombstone-index.ts';
import { kindNamed, modelKind } from '../../support/objects.ts';

const name = { kind: 'Model', namespace: 'ns', name: 'a' };
const evicted: TombstoneEntry = { uid: 'uid-1', end: 'evicted', versions: [] };
const deleted: TombstoneEntry = { uid: 'uid-2', end: 'deleted', versions: [3, null] };

function noted(book: TombstoneData, ...entries: readonly TombstoneEntry[]): TombstoneData {
  return entries.reduce((before, entry) => ({ ...before, ...addTombstones(before, [{ ...name, entry }]) }), book);
}

describe('names in the tombstone index', () => {
  it('are found with uid, end and versions, and no other name with them', () => {
    assert.deepEqual(findTombstone(noted({}, evicted), name), evicted);
    assert.deepEqual(findTombstone(noted({}, deleted), name), deleted);
    for (const other of [{ kind: 'Project' }, { namespace: 'other' }, { name: 'b' }]) {
      assert.equal(findTombstone(noted({}, evicted), { ...name, ...other }), undefined);
    }
  });

  it('belong to the object that had the name last', () => {
    assert.deepEqual(findTombstone(noted({}, evicted, deleted), name), deleted);
    assert.deepEqual(findTombstone(noted({}, deleted, evicted), name), evicted);
  });

  it('are forgotten once an object of that name was merely deleted', () => {
    const gone: TombstoneEntry = { uid: 'uid-3', end: 'deleted', versions: [null, null] };
    assert.equal(findTombstone(noted({}, evicted, gone), name), undefined);
    assert.deepEqual(addTombstones({}, [{ ...name, entry: gone }]), {});
  });

  it('change nothing when they are known already', () => {
    assert.deepEqual(addTombstones(noted({}, evicted), [{ ...name, entry: evicted }]), {});
  });

  it('keep versions with spaces, quotes and line breaks in them', () => {
    for (const version of ['2.9 beta', '"', 'a\nb', ' ']) {
      const entry: TombstoneEntry = { uid: 'u', end: 'deleted', versions: [version, true] };
      assert.deepEqual(findTombstone(noted({}, entry), name), entry);
    }
  });

  it('are ignored where a user has edited them to nonsense', () => {
    const [key, line] = Object.entries(noted({}, deleted))[0] ?? ['', ''];
    assert.deepEqual(findTombstone({ [key]: `${line}]]` }, name)?.versions, []);
    assert.equal(findTombstone({ [key]: 'nonsense' }, name), undefined);
  });

  it('take the versions that a manifest can bring back, and no long text', () => {
    const model = { spec: { revisionId: 7, sealed: true } };
    assert.deepEqual(versionsOf(modelKind, model), [7, true]);
    assert.deepEqual(versionsOf(modelKind, {}), [null, null]);
    const ray = kindNamed('RayCluster');
    assert.deepEqual(versionsOf(ray, { spec: { rayVersion: '2.9.0' } }), ['2.9.0']);
    assert.deepEqual(versionsOf(ray, { spec: { rayVersion: 'x'.repeat(65) } }), [null]);
    assert.deepEqual(versionsOf(ray, { spec: { rayVersion: { a: 1 } } }), [null]);
  });

  it('fit one ConfigMap however many there are, and of too many the evicted and the newest are kept', () => {
    const names = Array.from({ length: 40_000 }, (_, index) => ({
      ...{ kind: 'RayCluster', namespace: 'ns', name: `a-${index}` },
      entry: {
        uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        end: index % 4 === 0 ? ('evicted' as const) : ('deleted' as const),
        versions: ['2.9.0'],
      },
    }));
    const book = addTombstones(addTombstones({}, names.slice(0, 20_000)), names);
    const bytes = Object.entries(book).reduce((sum, [key, text]) => sum + key.length + text.length, 0);
    assert.ok(bytes < 1_000_000, String(bytes));
    const known = names.filter((each) => findTombstone(book, each) !== undefined);
    assert.ok(known.length > 10_000, String(known.length));
    const share = known.filter(({ entry }) => entry.end === 'evicted').length / 10_000;
    assert.ok(share > 0.9, String(share));
    const [oldest] = known.filter(({ entry }) => entry.end === 'deleted');
    assert.ok(oldest === undefined || oldest.entry.uid > names[20_000]!.entry.uid);
  });

  it('are the ones written last, whatever is written together', () => {
    const which = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      uid: fc.uuid(),
      end: fc.constantFrom('evicted' as const, 'deleted' as const),
    });
    fc.assert(
      fc.property(fc.array(fc.array(which, { maxLength: 5 }), { maxLength: 5 }), (batches) => {
        let book: TombstoneData = {};
        const expected = new Map<string, string | undefined>();
        for (const batch of batches) {
          const added = batch.map(({ name: each, uid, end }) => {
            expected.set(each, end === 'evicted' ? uid : undefined);
            return { kind: 'Model', namespace: 'ns', name: each, entry: { uid, end, versions: [] } };
          });
          book = { ...book, ...addTombstones(book, added) };
        }
        for (const [each, uid] of expected) {
          assert.equal(findTombstone(book, { kind: 'Model', namespace: 'ns', name: each })?.uid, uid);
        }
      }),
    );
  });
});
