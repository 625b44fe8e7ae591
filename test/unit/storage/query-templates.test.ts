import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CodedError } from '../../../src/base/errors.ts';
import { allKinds } from '../../../src/kinds/kinds.ts';
import { type ParameterValues, QueryTemplates } from '../../../src/storage/query-templates.ts';
import { shippedQueryTemplates } from '../../../src/storage/shipped-query-templates.ts';
import { kindNamed, modelKind } from '../../support/objects.ts';

const load = (...definitions: readonly unknown[]): QueryTemplates => new QueryTemplates(allKinds, definitions);
const ofTeam = {
  id: 'of-team',
  kind: 'Model',
  description: 'Models of a team',
  parameters: {
    team: { type: 'string' },
    revisions: { type: 'int', list: 'yes', optional: 'yes' },
    owner: { type: 'string', optional: 'yes' },
  },
  labels: [{ key: 'example.com/team', operator: 'in', values: [{ parameter: 'team' }] }],
  where: {
    any: [
      { field: 'revision_id', operator: 'in', values: { parameter: 'revisions' } },
      { field: 'spec.owner.name', operator: '=', value: { parameter: 'owner' } },
    ],
  },
  order: [{ field: 'spec.revisionId', direction: 'descending' }],
  limit: 20,
};

describe('query templates', () => {
  it('become list queries with the values in their places', () => {
    const query = load(ofTeam).bind(
      modelKind,
      'of-team',
      { team: 'a', revisions: [1, 2], owner: 'b' },
      { namespace: 'n' },
    );
    assert.deepEqual(query, {
      namespace: 'n',
      limit: 20,
      order: [{ field: 'spec.revisionId', direction: 'descending' }],
      labels: [{ key: 'example.com/team', operator: 'in', values: ['a'] }],
      where: {
        any: [
          { field: 'revision_id', operator: 'in', values: [1, 2] },
          { field: 'spec.owner.name', operator: '=', value: 'b' },
        ],
      },
    });
  });

  it('leave out the conditions whose optional parameter is not given', () => {
    const { where, limit } = load(ofTeam).bind(modelKind, 'of-team', { team: 'a' }, { limit: 5 });
    assert.deepEqual([where, limit], [undefined, 5]);
  });

  it('are shipped without a mistake, and can be filled', () => {
    const templates = new QueryTemplates(allKinds);
    const values = { string: 'x', int: 1, bool: true, time: '2026-01-02T03:04:05Z' } as const;
    for (const { kind, id, parameters = {} } of shippedQueryTemplates) {
      const given = Object.entries(parameters).map(([name, { type, list }]) => [
        name,
        list === 'yes' ? [values[type]] : values[type],
      ]);
      const query = templates.bind(kindNamed(kind), id, Object.fromEntries(given) as ParameterValues, {});
      assert.ok(query.where !== undefined, `${kind}/${id}`);
    }
  });

  it('are refused with all problems of all templates', () => {
    const wrong = [
      { ...ofTeam, id: 'Not An Id', limit: 5000 },
      { ...ofTeam, kind: 'Nothing' },
      { ...ofTeam, surprise: 1 },
      {
        ...ofTeam,
        parameters: { team: { type: 'int' }, unused: { type: 'string' } },
        labels: [{ key: 'no key', operator: 'in', values: [{ parameter: 'team' }] }],
        where: {
          all: [
            { field: 'spec.nothing', operator: '=', value: 'x' },
            { field: 'spec.revisionId', operator: '=', value: 'one' },
            { field: 'spec.owner.name', operator: '=', value: { parameter: 'missing' } },
            { field: 'spec.owner.name', operator: 'in', values: { parameter: 'team' } },
          ],
        },
        order: [{ field: 'json', direction: 'ascending' }],
      },
      ofTeam,
      ofTeam,
    ];
    assert.throws(
      () => load(...wrong),
      (error: CodedError) => {
        assert.equal(error.code, 'QUERY_TEMPLATE_INVALID');
        for (const expected of [
          /\[0\]\.id: expected lower-case words/,
          /\[0\]\.limit: /,
          /\[1\]\.kind: "Nothing" is no kind/,
          /\[2\]: .*surprise/,
          /\[3\]\.parameters\.unused: is used nowhere/,
          /\[3\]\.labels\[0\]: "no key" cannot be the key of a label/,
          /\[3\]\.labels\[0\]: parameter "team" is int, but string is compared here/,
          /\[3\]\.where\.all\[0\]: .*spec\.nothing/,
          /\[3\]\.where\.all\[1\]: .*spec.revisionId is never "one"; it is a whole number/,
          /\[3\]\.where\.all\[2\]: parameter "missing" is not declared/,
          /\[3\]\.where\.all\[3\]: parameter "team" must be a list here/,
          /\[3\]\.order\[0\]: .*json/,
          /\[5\]\.id: "of-team" is there twice/,
        ]) {
          assert.match(error.message, expected);
        }
        return true;
      },
    );
  });

  it('refuse values that do not fit, all at once, and unknown names with the known ones', () => {
    const templates = load(ofTeam);
    const values = { team: ['a'], revisions: [1, 'x'], other: 1 };
    assert.throws(
      () => templates.bind(modelKind, 'of-team', values, {}),
      (error: CodedError) => {
        assert.equal(error.code, 'QUERY_PARAMETERS_INVALID');
        assert.match(error.message, /other: is no parameter/);
        assert.match(error.message, /team: expected one string, not a list/);
        assert.match(error.message, /revisions: not every value is a int/);
        return true;
      },
    );
    assert.throws(() => templates.bind(modelKind, 'of-team', {}, {}), { message: /team: is missing/ });
    assert.throws(() => templates.bind(modelKind, 'constructor', {}, {}), {
      code: 'QUERY_TEMPLATE_UNKNOWN',
      message: /of-team/,
    });
  });
});
