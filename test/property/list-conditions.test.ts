import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { conditionOf } from '../../src/storage/mysql/read/conditions.ts';
import { modelKind } from '../support/objects.ts';

const hostile = fc.oneof(
  fc.string(),
  fc.array(fc.constantFrom('a', "'", '"', '`', '\\', '--', ';DROP TABLE model', '%', '\0')).map((all) => all.join('')),
);

describe('conditions of a list', () => {
  it('never put a text of the caller into SQL', () => {
    fc.assert(
      fc.property(hostile, hostile, (key, text) => {
        const value = `<<${text}`;
        const { sql, parameters } = conditionOf(modelKind, {
          namespace: value,
          labels: [{ key: `<<${key}`, operator: 'in', values: [value] }],
          where: { field: 'spec.algorithm', operator: '=', value },
        });
        assert.ok(!sql.includes('<<'), sql);
        assert.equal(parameters.length, sql.split('?').length - 1);
      }),
    );
  });
});
