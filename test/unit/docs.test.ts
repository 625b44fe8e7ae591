// The docs say what is true: links lead somewhere, commands exist, every error has its heading.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { KubeError, type KubeReason } from '../../src/kube/errors.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const pages = globSync(['*.md', 'docs/**/*.md', 'schema/**/*.md'], { cwd: root });

describe('the docs', () => {
  it('have links that lead to a file', () => {
    for (const page of pages) {
      for (const [, target = ''] of read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        assert.ok(existsSync(join(root, dirname(page), target)), `${page} links to ${target}`);
      }
    }
  });

  it('name files and npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const page of pages) {
      for (const [, script = ''] of read(page).matchAll(/npm run ([a-z]+)/g))
        assert.ok(script in scripts, `${page}: ${script}`);
      for (const [, file = ''] of read(page).matchAll(/`((?:src|test|hack|schema|config|webhooks)\/[\w./-]+\.\w+)`/g)) {
        assert.ok(existsSync(join(root, file)), `${page} names ${file}`);
      }
    }
  });

  it('have a heading for each error code, and no other', () => {
    const declared = globSync(['src/**/*.ts', 'webhooks/**/*.ts'], { cwd: root }).flatMap((file) =>
      [...read(file).matchAll(/super\(\s*'([A-Z_]+)'/g)].map(([, code]) => code ?? ''),
    );
    const reasons: Record<KubeReason, true> = {
      NotFound: true,
      Conflict: true,
      Expired: true,
      Forbidden: true,
      Unauthorized: true,
      TooManyRequests: true,
      Invalid: true,
      Refused: true,
      Unavailable: true,
    };
    const kube = Object.keys(reasons).map((reason) => new KubeError(reason as KubeReason, '').code);
    const headings = [...read('docs/errors.md').matchAll(/^## (\w+)$/gm)].map(([, code]) => code ?? '');
    assert.deepEqual(headings.sort(), [...declared, ...kube].sort());
  });

  it('list every decision', () => {
    const index = read('docs/adr/README.md');
    for (const file of globSync('docs/adr/0*.md', { cwd: root }))
      assert.ok(index.includes(file.replace('docs/adr/', '')));
  });
});
