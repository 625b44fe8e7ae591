// Whatever a client sends in a selector, an order, a token, a named query or a criterion: it is data or it is refused.
// It never becomes SQL, never reaches another namespace, and never makes the server fail.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CodedError } from '../../src/base/errors.ts';
import { listQuery } from '../../src/query/list-query.ts';
import { type ListRequest, parseListRequest } from '../../src/query/list-request.ts';
import { parseSearch } from '../../src/query/search.ts';
import { pageStatement } from '../../src/storage/mysql/read/list.ts';
import { skippedPaths } from '../../src/storage/mysql/read/object-reads.ts';
import { QueryTemplates } from '../../src/storage/query-templates.ts';
import { modelKind } from '../support/objects.ts';
import { fill, queryApp } from '../support/query-app.ts';

const MARK = 'zqx';
/** What only objects of the namespace "a" contain. Names alone would not do: `skip=metadata.name` leaves them out. */
const OTHERS = /"(?:m|uid-)[12]"|"ada"/u;
const templates = new QueryTemplates([modelKind]);

/** Texts that have meant something to a database, with a mark to find again in what is made of them. */
const hostile = fc
  .oneof(
    fc.string(),
    fc.constantFrom(
      ...[
        "' OR '1'='1",
        "'; DROP TABLE model; --",
        '`; DELETE FROM model',
        '\\',
        '%',
        '/*!50000 x */',
        '{}',
        '__proto__',
      ],
      ...['constructor', '1) UNION SELECT 1 -- ', '"', '\0', 'metadata.name', 'spec.algorithm', 'spec.owner.name', '?'],
    ),
  )
  .map((text) => text + MARK);

const anyText = fc.oneof(hostile, fc.constantFrom('metadata.name', 'spec.algorithm', '-metadata.name', 'team', 'a=b'));

/** What the storage would be asked, or undefined where the request was refused. Anything but a refusal fails the test. */
function statementOf(
  read: () => ListRequest,
): { readonly sql: string; readonly parameters: readonly unknown[] } | undefined {
  try {
    const query = listQuery({ kind: modelKind, namespace: undefined }, ['mine'], read(), templates);
    skippedPaths(query.skip ?? []);
    return pageStatement(modelKind, query, { begin: 'order' });
  } catch (error) {
    assert.ok(error instanceof CodedError && error.retry === 'no', String(error));
    return undefined;
  }
}

function proveHarmless(read: () => ListRequest): void {
  const statement = statementOf(read);
  if (statement === undefined) return;
  const { sql, parameters } = statement;
  assert.ok(!sql.includes(MARK), sql);
  assert.equal(parameters.length, sql.split('?').length - 2, 'one mark for each parameter, and one for the limit');
  assert.ok(sql.includes('`m`.`namespace` = ?') && parameters.includes('mine'), 'the namespaces of the user hold');
}

const names = [
  'labelSelector',
  'fieldSelector',
  'orderBy',
  'continue',
  'owner',
  'uid',
  'skip',
  'template',
  'createdAfter',
];
const parameters = fc.dictionary(fc.constantFrom(...names, 'param.value', 'param.algorithm', 'source'), anyText);

const value = fc.oneof(hostile, fc.integer(), fc.boolean(), fc.array(hostile, { maxLength: 3 }), fc.constant(null));
const criterion = fc.record({
  fieldName: fc.oneof(
    anyText,
    hostile.map((text) => `metadata.labels.${text}`),
  ),
  operator: fc.constantFrom('EQUAL', 'NOT_EQUAL', 'IN', 'NOT_IN', 'LIKE', 'GREATER_THAN', 'IS_NULL', 7, 'x'),
  matchValue: fc.oneof(value, fc.record({ '@type': fc.constant('x'), value })),
});
const { operation } = fc.letrec((tie) => ({
  operation: fc.record(
    {
      criterion: fc.array(criterion, { maxLength: 3 }),
      logicalOperator: fc.constantFrom('AND', 'OR', 0, 1),
      subOperations: fc.array(tie('operation'), { maxLength: 2, depthIdentifier: 'operation' }),
    },
    { requiredKeys: [] },
  ),
}));
const search = fc.record(
  {
    operation,
    orderBy: fc.array(fc.record({ field: anyText, dir: fc.constantFrom('SORT_ORDER_ASC', 'SORT_ORDER_DESC') }), {
      maxLength: 3,
    }),
    labelSelector: anyText,
    continue: anyText,
    template: fc.oneof(hostile, fc.constantFrom('of-owner', 'by-algorithm')),
    parameters: fc.dictionary(fc.oneof(fc.constantFrom('value', 'algorithm'), hostile), value, { maxKeys: 2 }),
    returnedFieldSkipList: fc.array(anyText, { maxLength: 2 }),
  },
  { requiredKeys: [] },
);

describe('what a client sends', () => {
  it('never becomes SQL as a parameter of a list', () => {
    fc.assert(
      fc.property(parameters, (asked) => proveHarmless(() => parseListRequest(new URLSearchParams(asked), 'list'))),
      { numRuns: 500 },
    );
  });

  it('never becomes SQL in a search', () => {
    fc.assert(
      fc.property(search, (body) => proveHarmless(() => parseSearch(body, modelKind))),
      { numRuns: 500 },
    );
  });

  it('never makes the server fail, and never shows what is in another namespace', async () => {
    const { storage, get, post } = queryApp({ allowed: ['b'], limits: { maxInFlight: 100 } });
    await fill(storage);
    await fc.assert(
      fc.asyncProperty(parameters, search, async (asked, body) => {
        for (const answer of [
          await get(`/models?${new URLSearchParams(asked).toString()}`),
          await post('/models/-/search', body),
        ]) {
          assert.ok([200, 400].includes(answer.status), answer.text);
          assert.doesNotMatch(answer.text, OTHERS);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is no token, however it is made up', async () => {
    const { storage, get } = queryApp();
    await fill(storage);
    const token = fc.json().map((text) => Buffer.from(text).toString('base64url'));
    await fc.assert(
      fc.asyncProperty(fc.oneof(token, fc.string()), async (made) => {
        const query = new URLSearchParams({ continue: `${made}x` });
        assert.equal((await get(`/models?${query.toString()}`)).status, 400);
        assert.ok(
          [200, 400].includes(
            (await get(`/models/-/changes?${new URLSearchParams({ since: made }).toString()}`)).status,
          ),
        );
      }),
      { numRuns: 60 },
    );
  });
});
