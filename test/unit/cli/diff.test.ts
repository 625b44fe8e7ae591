import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseLossless } from '../../../src/base/lossless-json.ts';
import { differencesOf, differencesText } from '../../../src/cli/kubectl/diff.ts';
import { createPluginProgram } from '../../../src/cli/kubectl/program.ts';

describe('a comparison of two objects', () => {
  const paths = (left: unknown, right: unknown): readonly string[] =>
    differencesOf(left, right).map(({ path }) => path);

  it('names each field that differs, in the order of their paths, and none that is equal', () => {
    const left = { spec: { rate: 0.1, steps: ['a', 'b'], same: { deep: [1, { x: null }] } }, labels: { 'a.b/c': '1' } };
    const right = { spec: { steps: ['a', 'c', 'd'], rate: 0.2, same: { deep: [1, { x: null }] } }, labels: {} };
    assert.deepEqual(differencesOf(left, right), [
      { path: 'labels["a.b/c"]', left: '1' },
      { path: 'spec.rate', left: 0.1, right: 0.2 },
      { path: 'spec.steps[1]', left: 'b', right: 'c' },
      { path: 'spec.steps[2]', right: 'd' },
    ]);
    assert.deepEqual(paths(left, structuredClone(left)), []);
  });

  it('tells values of other types apart, an empty one from a missing one, and integers of any length', () => {
    assert.deepEqual(paths({ a: '1', b: {}, c: null, d: [] }, { a: 1, c: 'null', d: {} }), ['a', 'b', 'c', 'd']);
    const number = (text: string): unknown => parseLossless(`{"id":${text}}`);
    assert.deepEqual(paths(number('9007199254740993'), number('9007199254740992')), ['id']);
    assert.deepEqual(paths(number('9007199254740993'), number('9007199254740993')), []);
  });

  it('shows short values in a table, long ones one below the other, and nothing that a terminal obeys', () => {
    const long = `manifest\u001B[2J${'x'.repeat(80)}`;
    const found = differencesOf({ spec: { a: 1, m: long } }, { spec: { b: '', m: 'short' } });
    assert.equal(
      differencesText(found, ['run-1', 'run-2']),
      'FIELD    run-1   run-2\nspec.a   1       -\nspec.b   -       ""\n\n' +
        `spec.m\n- manifest\\u001b[2J${'x'.repeat(80)}\n+ short\n`,
    );
  });

  it('refuses a name that is none before it asks', async () => {
    for (const name of ['model/m1', 'm1@', '@u', 'm1@u@v']) {
      const program = createPluginProgram();
      await assert.rejects(
        program.parseAsync(['node', 'plugin', 'diff', 'model', name, 'm2']),
        /neither <name> nor <name>@<uid>/,
        name,
      );
    }
  });
});
