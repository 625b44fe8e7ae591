import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { whereConditions } from '../../../src/query/where.ts';

const read = (expression: string) => whereConditions(expression)[0];
const problem = (expression: string, message: RegExp) =>
  assert.throws(() => read(expression), { reason: 'BadRequest', message });
const absent = (field: string) => ({ field, operator: 'isNull' });

describe('the parameter where', () => {
  it('becomes conditions of the storage, a negation that of each comparison', () => {
    assert.deepEqual(read('spec.algorithm == "x" && !(spec.tier < 2 || spec.kind in ["a"])'), {
      all: [
        { field: 'spec.algorithm', operator: '=', value: 'x' },
        {
          all: [
            { any: [{ field: 'spec.tier', operator: '>=', value: 2 }, absent('spec.tier')] },
            { field: 'spec.kind', operator: 'notIn', values: ['a'] },
          ],
        },
      ],
    });
  });

  it('takes a field that is absent as null, and a prefix as what it is', () => {
    assert.deepEqual(read('has(spec.owner.name)'), { field: 'spec.owner.name', operator: 'isNotNull' });
    assert.deepEqual(read('!has(spec.owner.name)'), absent('spec.owner.name'));
    assert.deepEqual(read('null == object.spec["owner"].name'), absent('spec.owner.name'));
    const prefix = { field: 'metadata.name', operator: 'like', value: String.raw`a\_b\%%` };
    assert.deepEqual(read('metadata.name.startsWith("a_b%")'), prefix);
  });

  it('takes a field that is true or false by itself, times, and numbers below zero', () => {
    assert.deepEqual(read('spec.hidden'), { field: 'spec.hidden', operator: '=', value: true });
    assert.deepEqual(read('!spec.hidden'), { field: 'spec.hidden', operator: '!=', value: true });
    assert.deepEqual(read('-3 > spec.tier'), { field: 'spec.tier', operator: '<', value: -3 });
    const time = { field: 'metadata.creationTimestamp', operator: '>', value: '2026-01-31T00:00:00Z' };
    assert.deepEqual(read('metadata.creationTimestamp > timestamp("2026-01-31T00:00:00Z")'), time);
  });

  it('is refused with everything that is wrong, each with its place', () => {
    problem('spec.a = "x"', /; write == for "is equal to"\./);
    problem(`spec.a != 'a=b' && spec.b = 1`, /; write == for/);
    assert.throws(
      () => read('!spec.a && spec.b <= 1 && spec.c == "a=b" && ('),
      (error: Error) => !error.message.includes('write =='),
    );
    problem('spec.a ==', /where: .*The CEL expression is wrong/);
    problem(
      'spec.a + 1 == 2 || spec.b.matches("x")',
      /at character 1: expected a field.*; at character 20: only comparisons/,
    );
    problem('metadata.labels["team"] == "a"', /labels are asked for by labelSelector/);
    problem('!metadata.name.startsWith("a")', /cannot be negated/);
    problem('metadata.name.startsWith("")', /one text that is not empty/);
    problem('spec.tier < null', /null has no order/);
    problem('spec.a in [spec.b, null]', /expected a text, a number/);
    problem('"a"', /expected a comparison/);
    problem(Array(65).fill('a == 1').join(' || '), /more than 64 comparisons/);
    problem(`a == "${'x'.repeat(4096)}"`, /longer than 4096 bytes/);
    problem(`${'('.repeat(200)}a == 1${')'.repeat(200)}`, /maxDepth|depth/i);
  });
});
