// docs/lifecycle-features.md and docs/lifecycle.md say what is true.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { stateDiagram, transitions } from '../../../src/lifecycle/pipeline.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const rows = read('docs/lifecycle-features.md')
  .split('\n')
  .filter((line) => /^\| [FM]?\d+ \|/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));

describe('the table of features', () => {
  it('has every row of the three catalogues', () => {
    const wanted = [
      ...Array.from({ length: 106 }, (_, index) => `${index + 1}`),
      ...Array.from({ length: 62 }, (_, index) => `F${index + 1}`),
      ...Array.from({ length: 50 }, (_, index) => `M${index + 1}`),
    ];
    assert.deepEqual(
      rows.map(([number]) => number),
      wanted,
    );
  });

  it('names a test that exists in each row, or says why there is none', () => {
    for (const [number = '', , proof = ''] of rows) {
      const [, file, title] = /^`(test\/[\w./-]+)`(?:: (.+))?$/.exec(proof) ?? [];
      if (file === undefined) {
        assert.match(proof, /^(makes no sense here: |not built: |not proven: )\S/, number);
        continue;
      }
      assert.ok(existsSync(join(root, file)), `${number} names ${file}`);
      if (title !== undefined) assert.ok(read(file).includes(`'${title}'`), `${number} names "${title}"`);
    }
  });
});

describe('the diagram of states', () => {
  it('in the docs is the one of the table, and every phase can be left', () => {
    assert.ok(read('docs/lifecycle.md').includes(stateDiagram()));
    for (const { to } of transitions)
      assert.ok(
        transitions.some(({ from }) => from === to),
        to,
      );
  });
});
