// What the component production makes of the bundle, with whatever else is listed before it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { findBinaries } from '../../hack/local/binaries.ts';
import { unlikeProduction } from '../support/like-production.ts';
import { linesOf, type Manifest, manifestsOf, type Recipe, recipes, renderText } from '../support/renders.ts';

describe('the manifests of production', () => {
  const names = ['production', 'production-query', 'production-lifecycle'];
  const renders = new Map<string, readonly Manifest[]>();
  const of = (name: string): readonly Manifest[] => renders.get(name) ?? [];
  let kubectl = '';

  before(async () => {
    kubectl = join(await findBinaries({ env: process.env, progress: () => undefined, signal: undefined }), 'kubectl');
    for (const name of names) {
      const recipe = recipes[name];
      assert.ok(recipe !== undefined);
      renders.set(name, manifestsOf(await renderText(kubectl, recipe)));
    }
  });

  it('fall into two units for GitOps that together are the overlay, whatever components that has', async () => {
    const together = async (units: readonly Recipe[]): Promise<readonly string[]> => {
      const texts = await Promise.all(units.map((unit) => renderText(kubectl, unit)));
      return linesOf(texts.flatMap(manifestsOf));
    };
    const units = ['platform', 'bundle'];
    assert.deepEqual(
      await together(units.map((name) => ({ folder: `config/units/${name}` }))),
      linesOf(of('production')),
    );
    for (const name of ['production-query', 'production-lifecycle']) {
      const recipe = recipes[name];
      assert.ok(recipe !== undefined && 'components' in recipe);
      const parts = units.map((unit) => ({ ...recipe, components: [...recipe.components, unit] }));
      assert.deepEqual(await together(parts), linesOf(of(name)), name);
    }
  });

  it('are spread, protected, annotated and scraped by HTTPS whatever components are listed before', () => {
    for (const name of names) {
      assert.ok(of(name).length > 40, name);
      assert.deepEqual(unlikeProduction(of(name)), [], name);
    }
  });

  it('do not build where production comes before a component that it would have to change', async () => {
    for (const late of ['crds', 'query', 'lifecycle']) {
      const wrong = { base: 'default', components: ['production', late] };
      const hint = new RegExp(`list the component ${late} before production`);
      await assert.rejects(renderText(kubectl, wrong), hint);
    }
  });
});
