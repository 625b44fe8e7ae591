import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { queryTemplates } from '../../../src/app/query/query.ts';
import { ConfigurationError, loadConfiguration } from '../../../src/config/load.ts';
import { modelKind } from '../../support/objects.ts';

describe('query templates of the configuration', () => {
  const directory = mkdtempSync(join(tmpdir(), 'query-templates-'));
  const file = join(directory, 'ingester.yaml');
  after(() => rmSync(directory, { recursive: true, force: true }));

  function load(yaml: string): ReturnType<typeof queryTemplates> {
    writeFileSync(file, yaml);
    return queryTemplates(loadConfiguration({ file, env: {} }));
  }

  it('are the examples of docs/storage.md beside the shipped templates', () => {
    const [, example = ''] = /```yaml\n(query:\n[^`]*)```/.exec(readFileSync('docs/storage.md', 'utf8')) ?? [];
    const templates = load(example);
    const ids = templates.forKind(modelKind).map(({ id }) => id);
    assert.ok(ids.includes('of-team') && ids.includes('of-family'), ids.join());
    assert.deepEqual(templates.bind(modelKind, 'of-team', { team: 'a' }, { limit: 5 }), {
      limit: 5,
      labels: [{ key: 'example.com/team', operator: 'in', values: ['a'] }],
    });
  });

  it('are refused all at once, each problem with its place in the file', () => {
    const wrong = [
      'query:',
      '  templates:',
      '    - { id: Wrong Id, kind: Model, description: a }',
      '    - { id: of-family, kind: Model, description: taken by a shipped one }',
      '    - { id: c, kind: Nothing, description: c }',
      '    - { id: d, kind: Model, description: d, where: { field: spec.nothing, operator: isNull } }',
    ];
    assert.throws(
      () => load(wrong.join('\n')),
      (error: ConfigurationError) => {
        assert.ok(error instanceof ConfigurationError);
        assert.deepEqual(
          error.errors.map(({ path }) => path),
          [0, 1, 2, 3].map((index) => `query.templates[${index}].${['id', 'id', 'kind', 'where'][index]}`),
        );
        assert.match(error.message, /"of-family" is there twice for this kind/);
        return true;
      },
    );
  });

  it('are refused for a kind that is not ingested', () => {
    const yaml = 'ingester: { kinds: [Project] }\nquery: { templates: [{ id: a, kind: Model, description: a }] }';
    assert.throws(() => load(yaml), /query\.templates\[0\]\.kind: "Model" is no kind that is ingested/);
  });

  it('are refused where they are not a list', () => {
    assert.throws(
      () => load('query: { templates: { id: a } }'),
      /query\.templates: expected a list of query templates/,
    );
  });
});
