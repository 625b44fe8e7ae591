import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { ownedDeletion } from '../../../../webhooks/policies/owned-deletion.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

const marked = { 'michelangelo/Deleting': 'true' };
const argo = { 'argocd.argoproj.io/tracking-id': 'shop:michelangelo.api/Model:ns/a' };
const flux = { 'kustomize.toolkit.fluxcd.io/name': 'apps', 'kustomize.toolkit.fluxcd.io/namespace': 'flux-system' };
const helm = { 'meta.helm.sh/release-name': 'shop' };

function mark(metadata: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    operation: 'UPDATE',
    kind: { group: 'michelangelo.api', version: 'v2', kind: 'Model' },
    resource: { group: 'michelangelo.api', version: 'v2', resource: 'models' },
    namespace: 'ns',
    name: 'a',
    oldObject: { metadata: {} },
    object: { metadata },
    ...more,
  };
}

const owned: readonly { owner: string; metadata: JsonObject }[] = [
  { owner: 'Argo CD application "shop"', metadata: { annotations: { ...marked, ...argo } } },
  { owner: 'Flux Kustomization "flux-system/apps"', metadata: { annotations: marked, labels: flux } },
  { owner: 'Helm release "shop"', metadata: { annotations: { ...marked, ...helm } } },
];

describe('rule owned-deletion', () => {
  for (const { owner, metadata } of owned) {
    const message = new RegExp(
      `^${owner} would create this object again after michelangelo/Deleting; remove it from Git`,
    );

    it(`warns a user who marks an object of ${owner} for deletion, or refuses the mark by setting`, async () => {
      assertWarned(await verdictOf(ownedDeletion('warn'), mark(metadata)), message);
      assertDenied(await verdictOf(ownedDeletion('deny'), mark(metadata)), message);
    });
  }

  const silent: Readonly<Record<string, JsonObject>> = {
    'an object without an owner': mark({ annotations: marked }),
    'another value of the mark': mark({ annotations: { ...argo, 'michelangelo/Deleting': 'yes' } }),
    'a mark that was there before': mark(
      { annotations: { ...marked, ...argo } },
      { oldObject: { metadata: { annotations: marked } } },
    ),
    'the tracking id of another object': mark({
      annotations: { ...marked, 'argocd.argoproj.io/tracking-id': 'shop:michelangelo.api/Model:ns/other' },
    }),
    'a child that copied the labels of its owner': mark({
      annotations: marked,
      labels: flux,
      ownerReferences: [{ controller: true }],
    }),
    'a manifest that Argo CD skips': mark({ annotations: { ...marked, ...argo, 'argocd.argoproj.io/hook': 'Skip' } }),
    'a manifest that Flux ignores': mark({
      annotations: { ...marked, 'kustomize.toolkit.fluxcd.io/ssa': 'Ignore' },
      labels: flux,
    }),
    'metadata that the API server would never store': mark({
      annotations: { ...marked, a: 1 },
      labels: 'x',
      ownerReferences: [null],
    }),
  };
  for (const [what, request] of Object.entries(silent)) {
    it(`says nothing to ${what}`, async () => {
      assert.deepEqual(await verdictOf(ownedDeletion('deny'), request), { allowed: true });
    });
  }
});
