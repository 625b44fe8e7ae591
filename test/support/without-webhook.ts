import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FINALIZER } from '../../src/api/names.ts';
import { pathOf } from './api-server.ts';
import { aManifest, kind } from './cluster.ts';
import { eventually } from './eventually.ts';
import type { Admission } from './use-admission.ts';

/** Why the component cannot be tested, where it cannot. */
export const noPolicies = process.env['KUBERNETES'] === 'oldest' && 'its CEL and its kinds need Kubernetes 1.36';

/** Takes the webhook away and puts the component `admission-policies` in its place, as an installation with it has it. */
export async function replaceByPolicies({ api, controlPlane, directory, webhook }: Admission): Promise<void> {
  await webhook.process.stop();
  await controlPlane.kubectlRun([
    'delete',
    'mutatingwebhookconfigurations,validatingwebhookconfigurations',
    '-l',
    'app.kubernetes.io/name=michelangelo-ingester',
  ]);
  const overlay = join(directory, 'config/overlays/policies');
  mkdirSync(overlay);
  const kustomization = { resources: ['../../base'], components: ['../../components/admission-policies'] };
  writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization));
  await controlPlane.kubectlRun(['apply', '-k', overlay]);
  // The API server learns of policies by a watch.
  await eventually(async () => {
    const path = `${pathOf(kind('Project'), 'default')}?dryRun=All`;
    const { metadata } = await api.must({ method: 'POST', path, body: aManifest('Project', 'default', 'probe') });
    assert.deepEqual(metadata.finalizers, [FINALIZER]);
    const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/projects.michelangelo.api';
    assert.equal((await api.call({ method: 'DELETE', path: `${crd}?dryRun=All` })).status, 403);
  });
  // The binding of that one is applied first; the API server takes what it has learned into use once a second.
  await delay(3000);
}
