import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fill, type Listed, messageIn, namesIn, queryApp } from '../../support/query-app.ts';

const searching = async (body: object, allowed?: readonly string[]) => {
  const { storage, post } = queryApp(allowed === undefined ? {} : { allowed });
  await fill(storage);
  return post('/models/-/search', body);
};
const found = async (body: object) => {
  const answer = await searching(body);
  assert.equal(answer.status, 200, answer.text);
  return namesIn(answer.body);
};
const criterion = (fieldName: string, operator: string, matchValue?: unknown) => ({ fieldName, operator, matchValue });
const text = (value: string) => ({ '@type': 'type.googleapis.com/google.protobuf.StringValue', value });

describe('a search', () => {
  it('finds what a list finds where it has no criteria', async () => {
    assert.deepEqual(await found({}), ['m3', 'm2', 'm1']);
  });

  it('takes selectors, source, owner and times', async () => {
    assert.deepEqual(await found({ labelSelector: 'team=even' }), ['m2']);
    assert.deepEqual(await found({ source: 'all', fieldSelector: 'metadata.namespace=b' }), ['m4', 'm3']);
    assert.deepEqual(await found({ owner: 'ada' }), ['m2', 'm1']);
    assert.deepEqual(await found({ createdAfter: '2025-12-31T00:00:02Z' }), ['m3', 'm2']);
  });

  it('orders by several fields, in either spelling', async () => {
    const orderBy = [{ field: 'spec.owner.name', dir: 'SORT_ORDER_DESC' }, { field: 'metadata.name' }];
    assert.deepEqual(await found({ orderBy }), ['m3', 'm1', 'm2']);
    assert.deepEqual(await found({ order_by: [{ field: 'model.metadata.creation_timestamp', dir: 1 }] }), [
      ...['m1', 'm2', 'm3'],
    ]);
  });

  it('takes a tree of criteria', async () => {
    const operation = {
      logicalOperator: 'LOGICAL_OPERATOR_OR',
      criterion: [criterion('metadata.name', 'CRITERION_OPERATOR_EQUAL', text('m3'))],
      subOperations: [
        {
          criterion: [
            criterion('spec.owner.name', 'IN', ['ada', 'eve']),
            criterion('metadata.name', 'CRITERION_OPERATOR_LIKE', 'm1%'),
          ],
        },
      ],
    };
    assert.deepEqual(await found({ operation }), ['m3', 'm1']);
  });

  for (const [operator, matchValue, names] of [
    ['EQUAL', 'm2', ['m2']],
    ['NOT_EQUAL', 'm2', ['m3', 'm1']],
    ['GREATER_THAN', 'm2', ['m3']],
    ['GREATER_THAN_OR_EQUAL_TO', 'm2', ['m3', 'm2']],
    ['LESS_THAN', 'm2', ['m1']],
    ['LESS_THAN_OR_EQUAL_TO', 'm2', ['m2', 'm1']],
    ['IN', ['m1', 'm3'], ['m3', 'm1']],
    ['NOT_IN', ['m1', 'm3'], ['m2']],
    ['LIKE', 'm_', ['m3', 'm2', 'm1']],
    ['IS_NULL', undefined, []],
    ['IS_NOT_NULL', undefined, ['m3', 'm2', 'm1']],
  ] as const) {
    it(`knows the operator ${operator}`, async () => {
      const criteria = [criterion('metadata.name', `CRITERION_OPERATOR_${operator}`, matchValue)];
      assert.deepEqual(await found({ operation: { criterion: criteria } }), names);
    });
  }

  it('asks for labels where all criteria must hold, and refuses them elsewhere', async () => {
    const criteria = [criterion('metadata.labels.team', 'NOT_EQUAL', 'odd')];
    assert.deepEqual(await found({ operation: { criterion: criteria } }), ['m2']);
    const { status, body } = await searching({ operation: { criterion: criteria, logicalOperator: 'OR' } });
    assert.equal(status, 400);
    assert.match(messageIn(body), /operation\.criterion\[0\]: a label or an owner can be asked for only where all/);
  });

  it('pages by offset, then by continue', async () => {
    const first = (await searching({ count: true, pagination: { offset: 1, limit: 1 } })).body as Listed;
    assert.deepEqual([namesIn(first), first.metadata.remainingItemCount], [['m2'], 1]);
    assert.deepEqual(namesIn((await searching({ continue: first.metadata.continue })).body), ['m1']);
    assert.deepEqual(await found({ pagination: { offset: 3 } }), []);
  });

  it('leaves out fields that the search does not want', async () => {
    const { body } = await searching({ returnedFieldSkipList: ['spec'] });
    assert.ok((body as { items: readonly object[] }).items.every((item) => !('spec' in item)));
  });

  it('runs a named query, with more conditions where they are given', async () => {
    const template = { template: 'of-owner', parameters: { value: 'ada' } };
    assert.deepEqual(await found(template), ['m2', 'm1']);
    assert.deepEqual(await found({ ...template, labelSelector: 'team=odd', source: 'live' }), ['m1']);
  });

  it('finds nothing outside the namespaces of the user', async () => {
    assert.deepEqual(namesIn((await searching({ source: 'all' }, ['b'])).body), ['m4', 'm3']);
    const named = { template: 'of-owner', parameters: { value: 'ada' } };
    assert.deepEqual(namesIn((await searching(named, ['b'])).body), []);
  });

  for (const [what, body, message] of [
    ['a key that it does not know', { limit: 1 }, /"limit" is not known; known are .*pagination/],
    [
      'several mistakes, all at once',
      { source: 'x', pagination: { limit: -1, page: 1 }, orderBy: [{ field: 'a', dir: 'UP' }] },
      /"page" is not known.*pagination\.limit.*source.*orderBy\[0\]\.dir/s,
    ],
    [
      'a field without a column',
      { operation: { criterion: [criterion('spec.secret', 'EQUAL', 'x')] } },
      /spec\.secret.*Supported are/,
    ],
    [
      'an operator that there is not',
      { operation: { criterion: [criterion('metadata.name', 'REGEX', 'x')] } },
      /criterion\[0\]\.operator: expected one of CRITERION_OPERATOR_EQUAL/,
    ],
    [
      'IN without a list',
      { operation: { criterion: [criterion('metadata.name', 'IN', 'x')] } },
      /matchValue: expected a list of values/,
    ],
    ['a named query that there is not', { template: 'none' }, /of-owner/],
    ['a parameter that the query lacks', { template: 'of-owner', parameters: { x: 1 } }, /is no parameter/],
    [
      'an order beside that of a named query',
      { template: 'of-owner', parameters: { value: 'a' }, orderBy: [{ field: 'a' }] },
      /order of its own/,
    ],
    ['a very large offset', { pagination: { offset: 10_001 } }, /from 0 to 10000/],
    ['an offset with a token', { continue: 'x', pagination: { offset: 1 } }, /not given together with continue/],
    ['a token of another query', { continue: 'x' }, /continue token/],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const answer = await searching(body);
      assert.equal(answer.status, 400, answer.text);
      assert.match(messageIn(answer.body), message);
    });
  }

  it('refuses criteria that are nested deeper than 8 levels', async () => {
    let operation: object = { criterion: [criterion('metadata.name', 'EQUAL', 'a')] };
    for (let depth = 0; depth < 9; depth += 1) operation = { subOperations: [operation] };
    assert.match(messageIn((await searching({ operation })).body), /nested at most 8 deep/);
    const many = Array.from({ length: 65 }, () => criterion('metadata.name', 'EQUAL', 'a'));
    assert.match(messageIn((await searching({ operation: { criterion: many } })).body), /more than 64 criteria/);
  });

  it('refuses bodies that are not JSON, not an object or too large', async () => {
    const { post } = queryApp();
    assert.equal((await post('/models/-/search', '{')).status, 400);
    assert.equal((await post('/models/-/search', '[]')).status, 400);
    assert.equal((await post('/models/-/search', 'a: b', 'application/yaml')).status, 415);
    assert.equal((await post('/models/-/search', { labelSelector: 'x'.repeat(70_000) })).status, 413);
  });
});

describe('the named queries of a kind', () => {
  it('are listed with their parameters', async () => {
    const { status, body } = await queryApp().get('/models/-/queries');
    assert.equal(status, 200);
    const { items } = body as { readonly items: readonly { readonly id: string; readonly parameters: object }[] };
    assert.deepEqual(Object.keys(items.find(({ id }) => id === 'by-algorithm')?.parameters ?? {}), [
      ...['algorithm', 'owner'],
    ]);
  });

  it('can be run by a list too', async () => {
    const { storage, get } = queryApp();
    await fill(storage);
    assert.deepEqual(namesIn((await get('/models?template=of-owner&param.value=ada')).body), ['m2', 'm1']);
  });
});
