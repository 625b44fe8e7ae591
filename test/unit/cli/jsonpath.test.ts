import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileJsonPath } from '../../../src/cli/kubectl/jsonpath.ts';

const document = {
  kind: 'List',
  items: [
    { metadata: { name: 'a', annotations: { 'stored.michelangelo.api/state': 'live' } }, spec: { tier: 1, on: true } },
    { metadata: { name: 'b' }, spec: { tier: 2, on: false } },
  ],
};

describe('a JSONPath template', () => {
  for (const [template, text] of [
    ['{.kind}', 'List'],
    ['{$.kind}', 'List'],
    ['{.items[*].metadata.name}', 'a b'],
    ['{.items[0].metadata.annotations.stored\\.michelangelo\\.api/state}', 'live'],
    ["{.items[0].metadata.annotations['stored.michelangelo.api/state']}", 'live'],
    ['{.items[-1].metadata.name}', 'b'],
    ['{.items[1].spec}', '{"tier":2,"on":false}'],
    ['kind={.kind}, {.items[0].spec.tier}', 'kind=List, 1'],
    ['{range .items[*]}{.metadata.name}{"\\t"}{.spec.tier}{"\\n"}{end}', 'a\t1\nb\t2\n'],
    ['{.items[?(@.spec.tier==2)].metadata.name}', 'b'],
    ['{.items[?(@.metadata.name!="b")].spec.tier}', '1'],
    ['{.items[?(@.spec.on==true)].metadata.name}', 'a'],
    ['{.none.at.all}{.items[7]}', ''],
  ] as const) {
    it(`${template} gives ${JSON.stringify(text)}`, () => assert.equal(compileJsonPath(template)(document), text));
  }

  for (const [template, message] of [
    ['{.a', /"\{" at character 1 stands alone/],
    ['a}', /"\}" at character 2 stands alone/],
    ['{.a[}', /"\[" is no step/],
    ['{range .items[*]}{.a}', /\{range\} has no \{end\}/],
    ['{end}', /\{end\} has no \{range\}/],
  ] as const) {
    it(`refuses ${template}`, () => assert.throws(() => compileJsonPath(template), message));
  }
});
