import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Change } from '../../../src/query/watch/change-log.ts';
import { eventOf, parseWatchRequest } from '../../../src/query/watch/watch-request.ts';
import type { StoredObject } from '../../../src/storage/metadata-storage.ts';
import type { RowState } from '../../../src/storage/row.ts';

const parse = (query: string, namespace?: string) => parseWatchRequest(new URLSearchParams(query), namespace);

function change(state: RowState, more: Partial<Change> & { readonly name?: string } = {}): Change {
  const { name = 'm1', ...rest } = more;
  const stored = { uid: 'u1', namespace: 'ml', name, state, resourceVersion: '7' } as StoredObject;
  return { stored, at: 0, foundAt: 0, isNew: false, labels: {}, shown: new Map(), isSuperseded: false, ...rest };
}

const event = (query: string, changed: Change, uids: readonly string[] = [], isEarlier = false) =>
  eventOf(changed, parse(query), { uids: new Set(uids), isEarlier });

describe('the event of a change', () => {
  const states = ['live', 'evicting', 'evicted', 'deleted'] as const;
  const expected = {
    present: ['MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED'],
    live: ['MODIFIED', 'MODIFIED', 'DELETED', 'DELETED'],
    evicted: [undefined, undefined, 'MODIFIED', 'DELETED'],
    deleted: [undefined, undefined, undefined, 'MODIFIED'],
    all: ['MODIFIED', 'MODIFIED', 'MODIFIED', 'MODIFIED'],
  } as const;
  for (const [source, events] of Object.entries(expected))
    it(`of source=${source} says what is there, and what is gone from it`, () => {
      assert.deepEqual(
        states.map((state) => event(`source=${source}`, change(state))),
        events,
      );
      assert.deepEqual(
        states.map((state) => event(`fieldSelector=source%3D${source}`, change(state))),
        events,
      );
    });

  it('is ADDED for a new object that is live', () => {
    assert.equal(event('', change('live', { isNew: true })), 'ADDED');
  });

  it('is that of the namespace of the path only', () => {
    const there = { uids: new Set<string>(), isEarlier: true };
    for (const query of ['', 'source=all', 'labelSelector=!x']) {
      assert.equal(eventOf(change('live'), parse(query, 'ml'), there), 'MODIFIED');
      for (const state of states) assert.equal(eventOf(change(state), parse(query, 'other'), there), undefined);
    }
  });

  it('is that of the named object only', () => {
    const selector = 'fieldSelector=metadata.name%3Dm1,metadata.namespace%3Dml';
    assert.equal(event(selector, change('live')), 'MODIFIED');
    assert.equal(event(selector, change('live', { name: 'm2' })), undefined);
  });

  const selectors = [
    { labelSelector: 'team=a', matches: { team: 'a' }, others: [{}, { team: 'b' }] },
    { labelSelector: 'team!=a', matches: {}, others: [{ team: 'a' }] },
    { labelSelector: 'team', matches: { team: '' }, others: [{}] },
    { labelSelector: '!team', matches: {}, others: [{ team: '' }] },
    { labelSelector: 'team in (a,b),!x', matches: { team: 'b' }, others: [{ team: 'c' }, { team: 'a', x: '' }] },
  ] as const;
  for (const { labelSelector, matches, others } of selectors)
    it(`of labelSelector=${labelSelector} is DELETED where an object that was known matches no more`, () => {
      const query = new URLSearchParams({ labelSelector }).toString();
      assert.equal(event(query, change('live', { labels: matches })), 'MODIFIED');
      for (const labels of others) {
        assert.equal(event(query, change('live', { labels }), ['u1']), 'DELETED');
        assert.equal(event(query, change('live', { labels })), undefined);
        assert.equal(event(query, change('live', { labels }), [], true), 'DELETED', 'it may have been known');
      }
      assert.equal(event(query, change('deleted', { labels: matches }), ['u1']), 'DELETED');
    });

  it('begins with what there is where no resourceVersion is given, and behind it where one is', () => {
    assert.equal(parse('').after, undefined);
    assert.equal(parse('resourceVersion=0').after, undefined);
    assert.equal(parse('resourceVersion=1795671721579000').after, '1795671721579000');
    assert.equal(parse('resourceVersion=7&sendInitialEvents=true').after, undefined);
  });

  it('is of no watch that asks for what MySQL would have to answer', () => {
    for (const query of [
      'fieldSelector=spec.algorithm%3Dx',
      'fieldSelector=metadata.name!%3Dm1',
      'where=true',
      'limit=1',
    ])
      assert.throws(() => parse(query), /a watch selects by labels|means nothing here/);
    assert.throws(() => parse('timeoutSeconds=soon'), /timeoutSeconds is a number/);
  });
});
