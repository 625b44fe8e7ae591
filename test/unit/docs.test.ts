// The docs say what is true: links lead somewhere, commands exist, every error has its heading.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { KubeError, type KubeReason } from '../../src/kube/errors.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const folders = ['docs', 'src', 'webhooks', 'schema', 'config', 'hack', 'test', '.github'];
const pages = globSync(['*.md', ...folders.map((folder) => `${folder}/**/*.md`)], { cwd: root });
/** What a heading is linked by. */
const anchorsOf = (page: string): readonly string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );

describe('the docs', () => {
  it('have links that lead to a file', () => {
    for (const page of pages) {
      for (const [, target = ''] of read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        assert.ok(existsSync(join(root, dirname(page), target)), `${page} links to ${target}`);
      }
    }
  });

  it('have links to headings that exist', () => {
    for (const page of pages) {
      for (const [, target = '', anchor = ''] of read(page).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)) {
        const anchors = anchorsOf(target === '' ? page : join(dirname(page), target));
        assert.ok(anchors.includes(anchor), `${page} links to ${target}#${anchor}`);
      }
    }
  });

  it('have the pages and headings that code and manifests name', () => {
    const files = globSync(
      folders.map((folder) => `${folder}/**/*.{ts,yaml,yml,mjs,sh,js}`),
      { cwd: root },
    );
    for (const file of files) {
      for (const [, page = '', anchor] of read(file).matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)) {
        assert.ok(existsSync(join(root, page)), `${file} names ${page}`);
        assert.ok(anchor === undefined || anchorsOf(page).includes(anchor), `${file} names ${page}#${anchor}`);
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

  it('list every decision, numbered without a gap', () => {
    const listed = [...read('docs/adr/README.md').matchAll(/^(\d+)\. \[(.+)\]\((.+)\)$/gm)];
    const files = globSync('docs/adr/0*.md', { cwd: root }).sort();
    assert.deepEqual(
      listed.map(([, , , file]) => `docs/adr/${file}`),
      files,
    );
    listed.forEach(([, number, title, file], index) => {
      assert.equal(Number(number), index + 1);
      assert.equal(read(`docs/adr/${file}`).split('\n')[0], `# ${number}. ${title}`);
    });
  });
});
