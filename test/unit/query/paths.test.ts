import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultKinds } from '../../../src/kinds/kinds.ts';
import { parseTarget } from '../../../src/query/paths.ts';
import { modelKind } from '../../support/objects.ts';

const base = '/apis/stored.michelangelo.api/v2';
const parse = (path: string) => parseTarget(`${base}${path}`, defaultKinds);

describe('the paths of the query API', () => {
  const kind = modelKind;
  const known = [
    ['/models', { type: 'list', kind, namespace: undefined }],
    ['/namespaces/ml/models', { type: 'list', kind, namespace: 'ml' }],
    ['/namespaces/ml/models/m1', { type: 'object', kind, namespace: 'ml', name: 'm1' }],
    ['/namespaces/ml/models/m%2e1', { type: 'object', kind, namespace: 'ml', name: 'm.1' }],
    ['/namespaces/ml/models/m1/incarnations', { type: 'incarnations', kind, namespace: 'ml', name: 'm1' }],
    ['/namespaces/ml/models/changes', { type: 'object', kind, namespace: 'ml', name: 'changes' }],
    ['/namespaces/ml/models/-/changes', { type: 'changes', kind, namespace: 'ml' }],
    ['/models/-/changes', { type: 'changes', kind, namespace: undefined }],
    ['/summary', { type: 'summary' }],
    ['/stuck', { type: 'stuck' }],
  ] as const;
  for (const [path, target] of known) it(`reads ${path}`, () => assert.deepEqual(parse(path), target));

  for (const path of [
    '/namespaces/ml%20/models',
    '/namespaces/ml/models/m1%20',
    '/namespaces/ml/models/M1',
    '/namespaces/ml.a/models/m1/incarnations',
    `/namespaces/${'n'.repeat(64)}/models`,
    `/namespaces/ml/models/${'m'.repeat(254)}/restore`,
  ]) {
    it(`finds nothing at ${path.slice(0, 50)}, which no object can be called`, () => {
      assert.throws(() => parse(path), { reason: 'NotFound', message: /no object can have that name/ });
    });
  }

  for (const path of [
    '/',
    '/namespaces/ml',
    '/models/m1',
    '/namespaces/ml/models/m1/log',
    '/models/-/other',
    '/namespaces/ml/models/m1/incarnations/1',
  ]) {
    it(`has nothing at ${path}`, () => assert.equal(parse(path), undefined));
  }

  it('names the kinds that are served where the resource is unknown', () => {
    assert.throws(() => parse('/modelfamilies'), /no resource modelfamilies; served are .*modelfamilys/);
  });

  it('refuses a path that is not valid percent-encoding', () => {
    assert.throws(() => parse('/namespaces/%zz/models'), /percent-encoding/);
  });

  it('leaves other groups alone', () => {
    assert.equal(parseTarget('/apis/michelangelo.api/v2/models', defaultKinds), undefined);
  });
});
