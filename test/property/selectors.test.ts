import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { SelectorInvalidError } from '../../src/storage/errors.ts';
import type { LabelRequirement } from '../../src/storage/list-query.ts';
import { parseFieldSelector, parseLabelSelector } from '../../src/storage/selectors.ts';

const name = fc.stringMatching(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?$/);
const key = fc.oneof(
  name,
  fc.tuple(fc.stringMatching(/^[a-z0-9]{1,8}\.[a-z]{2,5}$/), name).map((parts) => parts.join('/')),
);
const values = fc.uniqueArray(fc.oneof(name, fc.constant('')), { minLength: 1, maxLength: 4 });
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('in' as const, 'notIn' as const), values }, { noNullPrototype: true }),
  fc.record({ key, operator: fc.constantFrom('exists' as const, 'notExists' as const) }, { noNullPrototype: true }),
);

function written(one: LabelRequirement): string {
  switch (one.operator) {
    case 'exists':
      return one.key;
    case 'notExists':
      return `!${one.key}`;
    default:
      // An empty pair of parentheses is no value at all, as in Kubernetes.
      if (one.values.join('') === '') return `${one.key}${one.operator === 'in' ? '=' : '!='}`;
      return `${one.key} ${one.operator.toLowerCase()} (${one.values.join(',')})`;
  }
}

/** What is asked twice is asked once. */
function withoutRepeats(all: readonly LabelRequirement[]): readonly LabelRequirement[] {
  return all.filter((one, index) => all.findIndex((other) => isDeepStrictEqual(one, other)) === index);
}

/** Accepted or refused with a place, and nothing else. */
function readsOrRefuses(parse: (text: string) => unknown, text: string): void {
  try {
    parse(text);
  } catch (error) {
    assert.ok(error instanceof SelectorInvalidError, String(error));
  }
}

describe('selectors', () => {
  it('are read alike, however they are written', () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 5 }), (all) => {
        const text = all.map(written).join(' , ');
        assert.deepEqual(parseLabelSelector(text), withoutRepeats(all));
        assert.deepEqual(parseLabelSelector(`${text},${text}`.replace(/^,$/, '')), withoutRepeats(all));
      }),
      { numRuns: 1000 },
    );
  });

  it('carry any value of a field', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 4 }), (all) => {
        const text = all.map((value) => `spec.a=${value.replaceAll(/[\\,=]/g, '\\$&')}`).join(',');
        assert.deepEqual(
          parseFieldSelector(text).map((condition) => 'value' in condition && condition.value),
          [...new Set(all)],
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('are read, or refused with an error of their own, for any text', () => {
    const any = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom('a', '=', '!', ',', '(', ')', 'in', ' ', '\\', "'")).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(any, (text) => {
        readsOrRefuses(parseLabelSelector, text);
        readsOrRefuses(parseFieldSelector, text);
      }),
      { numRuns: 5000 },
    );
  });
});
