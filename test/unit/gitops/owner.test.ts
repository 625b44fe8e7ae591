import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta } from '../../../src/api/object.ts';
import { describeOwner, isTombstoned, ownerOf } from '../../../src/gitops/owner.ts';
import { aModel } from '../../support/objects.ts';

const trackingId = (id: string) => ({ annotations: { 'argocd.argoproj.io/tracking-id': id } });
const flux = {
  labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps', 'kustomize.toolkit.fluxcd.io/namespace': 'flux' },
};
const controller = { ownerReferences: [{ kind: 'Pipeline', name: 'parent', uid: 'p', controller: true }] };

const table: readonly (readonly [what: string, metadata: Partial<ObjectMeta>, owner: string | undefined])[] = [
  ['nothing', {}, undefined],
  [
    'a tracking id that names the object',
    trackingId('team:michelangelo.api/Model:a-namespace/a-model'),
    'Argo CD application "team"',
  ],
  [
    'an application of another namespace',
    trackingId('argo_team:michelangelo.api/Model:a-namespace/a-model'),
    'Argo CD application "argo_team"',
  ],
  ['a tracking id copied from its parent', trackingId('team:michelangelo.api/Pipeline:a-namespace/parent'), undefined],
  ['a tracking id of the same name elsewhere', trackingId('team:michelangelo.api/Model:other/a-model'), undefined],
  ['a tracking id of another group', trackingId('team:apps/Model:a-namespace/a-model'), undefined],
  ['an empty tracking id', trackingId(''), undefined],
  ['a damaged tracking id', trackingId('team:michelangelo.api/Model'), undefined],
  [
    'the label of label tracking, which plain Helm has too',
    { labels: { 'app.kubernetes.io/instance': 'x' } },
    undefined,
  ],
  ['the labels of a Kustomization', flux, 'Flux Kustomization "flux/apps"'],
  ['the label of a HelmRelease', { labels: { 'helm.toolkit.fluxcd.io/name': 'web' } }, 'Flux HelmRelease "web"'],
  ['labels of Flux on what a controller made', { ...flux, ...controller }, undefined],
  [
    'the annotations of a Helm release',
    { annotations: { 'meta.helm.sh/release-name': 'web', 'meta.helm.sh/release-namespace': 'apps' } },
    'Helm release "apps/web"',
  ],
  [
    'a tracking id that names what a controller made',
    { ...trackingId('team:michelangelo.api/Model:a-namespace/a-model'), ...controller },
    'Argo CD application "team"',
  ],
];

describe('the owner of an object', () => {
  for (const [what, metadata, expected] of table) {
    it(`${what}: ${expected ?? 'no owner'}`, () => {
      const owner = ownerOf(aModel(metadata));
      assert.equal(owner === undefined ? undefined : describeOwner(owner), expected);
    });
  }

  const argo = trackingId('team:michelangelo.api/Model:a-namespace/a-model').annotations;
  const tombstones: readonly (readonly [what: string, metadata: Partial<ObjectMeta>, tombstoned: boolean])[] = [
    ['Argo CD skips it', { annotations: { ...argo, 'argocd.argoproj.io/hook': 'Skip' } }, true],
    ['Argo CD runs it as a hook', { annotations: { ...argo, 'argocd.argoproj.io/hook': 'PreSync' } }, false],
    ['the mark is of another tool', { annotations: { ...argo, 'kustomize.toolkit.fluxcd.io/ssa': 'Ignore' } }, false],
    ['Flux ignores it', { ...flux, annotations: { 'kustomize.toolkit.fluxcd.io/ssa': 'Ignore' } }, true],
    [
      'Flux creates it if it is not there',
      { ...flux, annotations: { 'kustomize.toolkit.fluxcd.io/ssa': 'IfNotPresent' } },
      false,
    ],
  ];
  for (const [what, metadata, expected] of tombstones) {
    it(`${what}: ${expected ? 'the object can go' : 'the object would come back'}`, () => {
      const object = aModel(metadata);
      const owner = ownerOf(object);
      assert.ok(owner !== undefined);
      assert.equal(isTombstoned(object, owner), expected);
    });
  }
});
