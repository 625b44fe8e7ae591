// No text of an object makes a terminal do anything, whatever command shows it to a user; what programs read is as it was.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { terminalLine, terminalText } from '../../src/base/terminal-text.ts';
import { describeText, historyText } from '../../src/cli/kubectl/describe.ts';
import { printDocument, tableRows, textTable } from '../../src/cli/kubectl/output.ts';
import { aModelRow } from '../support/objects.ts';
import { queryApp } from '../support/query-app.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const OBEYED = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/;
const root = join(import.meta.dirname, '../..');

/** Text with more of what matters here than chance has. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('\u001B[2J', '\u001B]0;x\u0007', '\r', '\u009B31m', '\u202E', '\n', '\t', '\u007F', 'plain', 'ü'),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));

const anObject = fc.record({
  metadata: fc.record({
    name: fc.constant('m1'),
    labels: fc.dictionary(hostile, hostile, { maxKeys: 2 }),
    annotations: fc.dictionary(hostile, hostile, { maxKeys: 2 }),
  }),
  spec: fc.dictionary(hostile, fc.oneof(hostile, fc.array(hostile, { maxLength: 2 })), { maxKeys: 3 }),
});

describe('text that users read', () => {
  it('holds nothing that a terminal obeys, and the rest of the text as it was', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        assert.doesNotMatch(terminalText(text), OBEYED);
        assert.doesNotMatch(terminalLine(text), /[\n\t]/);
        if (!OBEYED.test(text) && !/[\u061C\u2028\u2029\uFEFF]/.test(text)) assert.equal(terminalText(text), text);
      }),
    );
  });

  it('is escaped in the tables and descriptions of the plugin', () => {
    fc.assert(
      fc.property(anObject, hostile, (object, cell) => {
        const table = {
          columnDefinitions: [{ name: 'Name', priority: 0 }],
          rows: [{ cells: [cell], object: { metadata: {} } }],
        };
        const { head, rows } = tableRows(table, { wide: true, namespaces: false });
        const text = textTable([head, ...rows], 'plain');
        assert.doesNotMatch(text, OBEYED);
        assert.equal(text.split('\n').length, 3, 'one line a row');
        assert.doesNotMatch(terminalText(describeText({ kind: cell, ...object })), OBEYED);
        assert.doesNotMatch(historyText([object], 'plain'), OBEYED);
      }),
    );
  });

  it('is escaped in the cells that the query API sends to any client', async () => {
    const { storage, get } = queryApp();
    await storage.upsert(aModelRow({ name: 'm1' }, { algorithm: '\u001B[2Jgone\r\nline\u009B' }));
    const { body } = await get('/models', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json');
    const [{ cells } = { cells: [] }] = (body as { rows: { cells: unknown[] }[] }).rows;
    assert.ok(cells.includes('\\u001b[2Jgone\\u000d\\nline\\u009b'), cells.join(' '));
  });

  it('goes to the terminal by one way only', () => {
    const writes = globSync('src/{cli,app,sync,lifecycle,storage}/**/*.ts', { cwd: root }).filter((file) =>
      /process\.std(out|err)\.write/.test(readFileSync(join(root, file), 'utf8')),
    );
    assert.deepEqual(writes, ['src/cli/print.ts']);
  });
});

describe('text that programs read', () => {
  it('is exactly what the object holds', () => {
    fc.assert(
      fc.property(anObject, (object) => {
        const plain = JSON.parse(JSON.stringify(object)) as object;
        assert.deepEqual(JSON.parse(printDocument(object, 'json')), plain);
        assert.equal(printDocument(object, 'jsonpath={.metadata.name}'), 'm1');
      }),
    );
    const text = '\u001B[2J\u009B';
    assert.equal((parse(printDocument({ text }, 'yaml')) as { text: string }).text, text);
    assert.equal(printDocument({ spec: { text } }, 'jsonpath={.spec.text}'), text);
  });
});
