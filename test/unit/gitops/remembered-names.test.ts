import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type NameBook,
  type RememberedName,
  recall,
  remember,
  versionsOf,
} from '../../../src/gitops/remembered-names.ts';
import { kindNamed, modelKind } from '../../support/objects.ts';

const name = { kind: 'Model', namespace: 'ns', name: 'a' };
const evicted: RememberedName = { uid: 'uid-1', end: 'evicted', versions: [] };
const deleted: RememberedName = { uid: 'uid-2', end: 'deleted', versions: [3, null] };

function noted(book: NameBook, ...records: readonly RememberedName[]): NameBook {
  return records.reduce((before, record) => ({ ...before, ...remember(before, [{ ...name, record }]) }), book);
}

describe('remembered names', () => {
  it('are recalled with uid, end and versions, and no other name with them', () => {
    assert.deepEqual(recall(noted({}, evicted), name), evicted);
    assert.deepEqual(recall(noted({}, deleted), name), deleted);
    for (const other of [{ kind: 'Project' }, { namespace: 'other' }, { name: 'b' }]) {
      assert.equal(recall(noted({}, evicted), { ...name, ...other }), undefined);
    }
  });

  it('are of the object that had the name last', () => {
    assert.deepEqual(recall(noted({}, evicted, deleted), name), deleted);
    assert.deepEqual(recall(noted({}, deleted, evicted), name), evicted);
  });

  it('are forgotten once an object of that name was merely deleted', () => {
    const gone: RememberedName = { uid: 'uid-3', end: 'deleted', versions: [null, null] };
    assert.equal(recall(noted({}, evicted, gone), name), undefined);
    assert.deepEqual(remember({}, [{ ...name, record: gone }]), {});
  });

  it('change nothing when they are known already', () => {
    assert.deepEqual(remember(noted({}, evicted), [{ ...name, record: evicted }]), {});
  });

  it('keep versions with spaces, quotes and line breaks in them', () => {
    for (const version of ['2.9 beta', '"', 'a\nb', ' ']) {
      const record: RememberedName = { uid: 'u', end: 'deleted', versions: [version, true] };
      assert.deepEqual(recall(noted({}, record), name), record);
    }
  });

  it('say nothing where somebody has edited them to nonsense', () => {
    const [key, line] = Object.entries(noted({}, deleted))[0] ?? ['', ''];
    assert.deepEqual(recall({ [key]: `${line}]]` }, name)?.versions, []);
    assert.equal(recall({ [key]: 'nonsense' }, name), undefined);
  });

  it('take the versions that a manifest can bring back, and nothing long', () => {
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
      record: {
        uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        end: index % 4 === 0 ? ('evicted' as const) : ('deleted' as const),
        versions: ['2.9.0'],
      },
    }));
    const book = remember(remember({}, names.slice(0, 20_000)), names);
    const bytes = Object.entries(book).reduce((sum, [key, text]) => sum + key.length + text.length, 0);
    assert.ok(bytes < 1_000_000, String(bytes));
    const known = names.filter((each) => recall(book, each) !== undefined);
    assert.ok(known.length > 10_000, String(known.length));
    const share = known.filter(({ record }) => record.end === 'evicted').length / 10_000;
    assert.ok(share > 0.9, String(share));
    const [oldest] = known.filter(({ record }) => record.end === 'deleted');
    assert.ok(oldest === undefined || oldest.record.uid > names[20_000]!.record.uid);
  });

  it('are what was written last, whatever is written together', () => {
    const which = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      uid: fc.uuid(),
      end: fc.constantFrom('evicted' as const, 'deleted' as const),
    });
    fc.assert(
      fc.property(fc.array(fc.array(which, { maxLength: 5 }), { maxLength: 5 }), (batches) => {
        let book: NameBook = {};
        const expected = new Map<string, string | undefined>();
        for (const batch of batches) {
          const departed = batch.map(({ name: each, uid, end }) => {
            expected.set(each, end === 'evicted' ? uid : undefined);
            return { kind: 'Model', namespace: 'ns', name: each, record: { uid, end, versions: [] } };
          });
          book = { ...book, ...remember(book, departed) };
        }
        for (const [each, uid] of expected) {
          assert.equal(recall(book, { kind: 'Model', namespace: 'ns', name: each })?.uid, uid);
        }
      }),
    );
  });
});
