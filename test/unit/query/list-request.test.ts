import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Asked, parseListRequest } from '../../../src/query/list-request.ts';

const parse = (query: string, asked: Asked = 'list') => parseListRequest(new URLSearchParams(query), asked);

describe('the parameters of a list', () => {
  it('ask for every object that is not deleted where none is given', () => {
    const { limit, source, count, minResourceVersion, includeObject } = parse('');
    assert.deepEqual(
      { limit, source, count, minResourceVersion, includeObject },
      {
        limit: undefined,
        source: 'present',
        count: false,
        minResourceVersion: undefined,
        includeObject: 'Metadata',
      },
    );
  });

  it('takes what kubectl sends', () => {
    const {
      limit,
      continue: token,
      labels,
    } = parse('limit=500&continue=abc&labelSelector=a%3Db&timeout=30s&pretty=true');
    assert.deepEqual([limit, token, labels], [500, 'abc', [{ key: 'a', operator: 'in', values: ['b'] }]]);
  });

  it('takes the source as a field too, once', () => {
    const { source, where } = parse('fieldSelector=source%3Ddeleted,metadata.name%3Da');
    assert.deepEqual([source, where], ['deleted', [{ field: 'metadata.name', operator: '=', value: 'a' }]]);
    assert.throws(() => parse('fieldSelector=source%3Detcd'), /the field source is one of live/);
    assert.throws(() => parse('fieldSelector=source!%3Dlive'), /the field source is one of live, .*, with =/);
    assert.throws(() => parse('fieldSelector=source%3Dall&source=live'), /source is given more than once/);
  });

  it('takes owners as fields, and annotations by a selector of their own', () => {
    const { labels, where, annotations } = parse(
      'labelSelector=a&fieldSelector=metadata.ownerReferences.uid%3Du1,metadata.name%3Dm&annotationSelector=note%3D%22a%20b%22',
    );
    assert.deepEqual(labels, [
      { key: 'a', operator: 'exists' },
      { key: '=u1', operator: 'in', values: [''] },
    ]);
    assert.deepEqual(where, [{ field: 'metadata.name', operator: '=', value: 'm' }]);
    assert.deepEqual(annotations, [{ key: 'note', operator: 'in', values: ['a b'] }]);
    assert.throws(() => parse('fieldSelector=metadata.ownerReferences.name%3Da'), /Supported are: .*uid=<uid>/);
    assert.throws(() => parse('annotationSelector=a%3Db', 'deletion'), /"annotationSelector" means nothing here/);
    const asked = 'metadata.ownerReferences.uid';
    assert.deepEqual(parse(`fieldSelector=${asked}%3Du1`, 'watch').where, [
      { field: asked, operator: '=', value: 'u1' },
    ]);
  });

  it('reads resourceVersion as the least age, and 0 as any', () => {
    assert.equal(parse('resourceVersion=17&resourceVersionMatch=NotOlderThan').minResourceVersion, '17');
    assert.equal(parse('resourceVersion=0').minResourceVersion, undefined);
  });

  it('names every problem at once', () => {
    assert.throws(
      () => parse('source=etcd&limit=-1&fieldselector=x&count=maybe&continue=a&continue=b'),
      /fieldselector.*not known.*continue.*more than once.*source is one of live.*limit is a number.*count is one of true/s,
    );
  });

  it('orders by several fields', () => {
    assert.deepEqual(parse('orderBy=metadata.name,-spec.algorithm').order, [
      { field: 'metadata.name', direction: 'ascending' },
      { field: 'spec.algorithm', direction: 'descending' },
    ]);
  });

  it('takes ranges of time, in UTC', () => {
    assert.deepEqual(parse('createdAfter=2026-01-01T00:00:00Z').where, [
      { field: 'metadata.creationTimestamp', operator: '>=', value: '2026-01-01T00:00:00Z' },
    ]);
    assert.throws(() => parse('updatedBefore=yesterday'), /updatedBefore is a time such as/);
  });

  it('takes the parameters of a named query, and only with its name', () => {
    assert.deepEqual(parse('template=x&param.a=1&param.b=2&param.b=3').template, {
      id: 'x',
      values: { a: '1', b: ['2', '3'] },
    });
    assert.throws(() => parse('param.a=1'), /param.a means nothing without template/);
  });

  it('refuses a parameter that has no meaning where it is given', () => {
    assert.throws(() => parse('source=all', 'changes'), /"source" means nothing here; known here are limit,/);
    assert.throws(() => parse('limit=1', 'object'), /"limit" means nothing here/);
  });

  it('refuses an exact version, which only etcd knows', () => {
    assert.throws(() => parse('resourceVersion=17&resourceVersionMatch=Exact'), /resourceVersionMatch is one of/);
  });

  it('refuses to watch what is no list, and names the alternative', () => {
    assert.throws(() => parse('watch=true'), /watch the list of the kind, with fieldSelector=metadata.name/);
  });
});
