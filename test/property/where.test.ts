// What the parameter `where` finds is what CEL says of the objects themselves.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Environment } from '@marcbachmann/cel-js';
import fc from 'fast-check';
import { whereConditions } from '../../src/query/where.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { aModel, kindNamed, rowOf } from '../support/objects.ts';

const projects = kindNamed('Project');
const cel = new Environment({ unlistedVariablesAreDyn: true });
const times = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'];
const names = ['a', 'ab', 'b', 'b%c'];

const objects = names.flatMap((name, index) =>
  [1, 2, 3].map((tier) => ({
    ...aModel({
      name,
      namespace: `n${tier}`,
      uid: `00000000-0000-4000-8000-0000000000${index}${tier}`,
      creationTimestamp: times[(index + tier) % times.length] ?? '',
    }),
    kind: 'Project',
    spec: { tier },
  })),
);

const order = fc.constantFrom('==', '!=', '<', '<=', '>', '>=');
const equality = fc.constantFrom('==', '!=');
const tier = fc.integer({ min: 0, max: 4 }).map(String);
const text = fc.constantFrom(...names).map((name) => JSON.stringify(name));
const time = fc.constantFrom(...times).map((one) => `timestamp("${one}")`);
const compared = (field: string, operator: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(operator, value, fc.boolean())
    .map(([sign, one, turned]) => (turned ? `${one} ${sign} ${field}` : `${field} ${sign} ${one}`));
const listed = (field: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(value, { maxLength: 3 }).map((values) => `${field} in [${values.join(', ')}]`);

const { expression } = fc.letrec<{ expression: string; leaf: string; joined: string; negated: string }>((tie) => ({
  leaf: fc.oneof(
    compared('spec.tier', order, tier),
    compared('metadata.name', equality, text),
    compared('metadata.creationTimestamp', order, time),
    listed('spec.tier', tier),
    listed('metadata.name', text),
    fc.constantFrom('true', 'false', 'has(spec.tier)'),
  ),
  joined: fc
    .tuple(tie('expression'), fc.constantFrom('&&', '||'), tie('expression'))
    .map(([left, sign, right]) => `(${left} ${sign} ${right})`),
  negated: tie('expression').map((inner) => `!(${inner})`),
  expression: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('leaf'), tie('joined'), tie('negated')),
}));

describe('the parameter where', () => {
  it('finds exactly the objects of which CEL says that the expression holds', async () => {
    const storage = new MemoryStorage();
    for (const object of objects) await storage.upsert(rowOf(object));
    const seen = { some: 0, all: 0, none: 0 };
    await fc.assert(
      fc.asyncProperty(expression, async (asked) => {
        const expected = objects.filter(({ metadata, spec }) => {
          const { name, creationTimestamp } = metadata;
          const context = {
            metadata: { name, creationTimestamp: new Date(creationTimestamp ?? '') },
            spec: { tier: BigInt(spec.tier) },
          };
          return cel.evaluate(asked, context) === true;
        });
        const { items } = await storage.list(projects, { where: { all: whereConditions(asked) }, limit: 100 });
        assert.deepEqual(
          items.map(({ uid }) => uid).sort(),
          expected.map(({ metadata }) => metadata.uid).sort(),
          asked,
        );
        seen[expected.length === 0 ? 'none' : expected.length === objects.length ? 'all' : 'some'] += 1;
      }),
      { numRuns: 500 },
    );
    assert.ok(seen.some > 100, JSON.stringify(seen));
  });
});
