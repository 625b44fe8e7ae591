import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import type { JsonObject } from '../../../src/base/json.ts';
import { parseLossless } from '../../../src/base/lossless-json.ts';
import { customColumns, sortedBy } from '../../../src/cli/kubectl/columns.ts';
import { chosenText, printDocument, tableRows } from '../../../src/cli/kubectl/output.ts';

const model = (name: string, spec: JsonObject, labels?: JsonObject): JsonObject => ({
  spec,
  kind: 'Model',
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
});
const items = [model('b', { tier: 10 }, { team: 'x' }), model('c', {}), model('a', { tier: 9 })];
const names = (sorted: readonly JsonObject[]) => sorted.map(({ metadata }) => (metadata as JsonObject)['name']);

describe('columns of the user’s choice', () => {
  it('have heads and values, and <none> where there is no value', () => {
    const format = 'custom-columns=NAME:.metadata.name,TEAM:{.metadata.labels.team},TIER:spec.tier' as const;
    assert.equal(
      chosenText(items.slice(0, 2), format),
      'NAME   TEAM     TIER\nb      x        10\nc      <none>   <none>\n',
    );
    assert.equal(chosenText(items.slice(1, 2), format, 'no-heads'), 'c      <none>   <none>\n');
  });

  it('are refused where one is no head and path', () => {
    for (const wrong of ['NAME', ':.a', 'NAME:', 'A:.a,B']) {
      assert.throws(() => customColumns(wrong), /is not HEAD:path/, wrong);
    }
    assert.throws(() => customColumns('A:.a[x'), /JSONPath/);
  });
});

describe('the order of the user’s choice', () => {
  it('is by value for numbers, by text otherwise, and begins with what has no value', () => {
    assert.deepEqual(names(sortedBy('.spec.tier', items)), ['c', 'a', 'b']);
    assert.deepEqual(names(sortedBy('{.metadata.name}', items)), ['a', 'b', 'c']);
    assert.deepEqual(names(sortedBy('metadata.labels.team', items)), ['c', 'a', 'b']);
  });

  it('knows numbers that are too large for a double', () => {
    const large = parseLossless('[{"n":9007199254740995},{"n":3}]') as readonly JsonObject[];
    assert.deepEqual(sortedBy('.n', large)[0], { n: 3 });
  });
});

describe('output in kubectl’s form', () => {
  it('has keys by the alphabet, lists at the level of their key, and four spaces in JSON', () => {
    const object = {
      metadata: { name: 'm' },
      kind: 'Model',
      apiVersion: 'v2',
      spec: { on: 'true', list: [{ b: 1, a: 2 }] },
    };
    const yaml = printDocument(object, 'yaml');
    assert.equal(
      yaml,
      'apiVersion: v2\nkind: Model\nmetadata:\n  name: m\nspec:\n  list:\n  - a: 2\n    b: 1\n  on: "true"\n',
    );
    assert.deepEqual(parse(yaml), object);
    assert.match(printDocument(object, 'json'), /^\{\n {4}"apiVersion": "v2",\n {4}"kind"/);
  });

  it('shows labels, and the kind of each name where there are several kinds', () => {
    const table = {
      columnDefinitions: [{ name: 'Name', priority: 0 }],
      rows: items.map(({ metadata }) => ({
        cells: [(metadata as JsonObject)['name'] as string],
        object: { metadata },
      })),
    } as unknown as JsonObject;
    const options = { wide: false, namespaces: false, labels: true, prefix: 'model.stored.michelangelo.api/' };
    const { head, rows } = tableRows(table, options);
    assert.deepEqual(head, ['NAME', 'LABELS']);
    assert.deepEqual(rows[0], ['model.stored.michelangelo.api/b', 'team=x']);
    assert.deepEqual(rows[1]?.[1], '<none>');
  });
});
