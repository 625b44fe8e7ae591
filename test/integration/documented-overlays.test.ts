// The kustomizations that the docs print for users' overlays: each builds, and says what it is printed for.
import assert from 'node:assert/strict';
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { before, describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { findBinaries } from '../../hack/local/binaries.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { type Block, blocksOf } from '../support/docs-page.ts';

const root = join(import.meta.dirname, '../..');
/** As the docs name this repository in an overlay. */
const REMOTE = /https:\/\/git\.example\/ingester\/\/(?<path>[\w/-]+)\?ref=v[\d.]+/g;
/** Where a snippet changes what others bring. */
const BESIDE = ['query', 'query-certificate', 'production'];

interface Snippet {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { readonly patch: string }[];
  readonly replacements?: readonly unknown[];
}

const snippets = globSync('docs/*.md', { cwd: root }).flatMap((page) =>
  blocksOf(basename(page))
    .filter(({ language, text }) => language === 'yaml' && /^(?:components|patches|configMapGenerator):/m.test(text))
    .map((block) => ({ page: basename(page), block })),
);

describe('a kustomization of the docs', () => {
  let kubectl = '';
  before(async () => {
    kubectl = join(await findBinaries({ env: process.env, progress: () => undefined, signal: undefined }), 'kubectl');
  });

  async function built({ text }: Block): Promise<{ readonly snippet: Snippet; readonly rendered: string }> {
    const scratch = join(root, '.local');
    mkdirSync(scratch, { recursive: true });
    const folder = mkdtempSync(join(scratch, 'documented-'));
    const here = (path: string): string => relative(folder, join(root, path));
    try {
      const snippet = parse(
        text
          .replace(REMOTE, (_whole, path: string) => here(path))
          .replace('../ingester', here('config/overlays/production'))
          .replace(/sha256:…/, `sha256:${'0'.repeat(64)}`),
      ) as Snippet;
      const components = snippet.components ?? BESIDE.map((name) => here(`config/components/${name}`));
      const whole = {
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        resources: [here('config/default')],
        ...snippet,
        components,
      };
      writeFileSync(join(folder, 'kustomization.yaml'), stringify(whole));
      const { code, stdout, stderr } = await runCommand(kubectl, ['kustomize', folder]);
      assert.equal(code, 0, stderr);
      return { snippet, rendered: stdout };
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it('is there for overlays, network policies, traces and clusters', () => {
    assert.ok(snippets.length >= 5, `${snippets.length}`);
  });

  for (const { page, block } of snippets) {
    it(`builds, and its patches find what they change: ${page}, ${block.section}`, async () => {
      const { snippet, rendered } = await built(block);
      if (snippet.replacements !== undefined) assert.doesNotMatch(rendered, /git\.example/);
      for (const { patch } of snippet.patches ?? [])
        for (const { value } of parse(patch) as readonly { readonly value: unknown }[])
          for (const text of textsIn(value)) assert.ok(rendered.includes(text), `not in the manifests: ${text}`);
    });
  }
});

/** Every line of every text in it. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string')
    return value
      .trim()
      .split('\n')
      .map((line) => line.trim());
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
