import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bundle } from '../../hack/local/bundle.ts';
import { INGESTER_GROUP, INGESTER_PLURAL, INGESTER_VERSION } from '../../src/api/ingester/spec.ts';
import { GROUP } from '../../src/api/names.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';

/**
 * Sends everything that any rule could have an opinion on to POST /validate, without conditions: more than the shipped
 * registration does, so that the rules themselves are what allows it.
 */
export async function registerValidation(bundle: Bundle): Promise<void> {
  const text = readFileSync(join(bundle.directory, 'config/overlays/local/webhook.env'), 'utf8');
  const settings = new Map(text.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
  const url = settings.get('validateUrl');
  const webhook = (name: string, rule: object): object => ({
    name: `${name}.validating.test`,
    admissionReviewVersions: ['v1'],
    clientConfig: { url, caBundle: settings.get('caBundle') },
    rules: [{ scope: '*', ...rule }],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    sideEffects: 'None',
    timeoutSeconds: 10,
  });
  const withStatus = (...plurals: readonly string[]): readonly string[] =>
    plurals.flatMap((plural) => [plural, `${plural}/status`]);
  const resources = withStatus(...defaultKinds.map(({ plural }) => plural));
  const operations = ['CREATE', 'UPDATE', 'DELETE'];
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'validating-test' },
    webhooks: [
      webhook('objects', { apiGroups: [GROUP], apiVersions: ['v2'], operations, resources }),
      webhook('ingesters', {
        apiGroups: [INGESTER_GROUP],
        apiVersions: [INGESTER_VERSION],
        operations,
        resources: withStatus(INGESTER_PLURAL),
      }),
      webhook('crds', {
        apiGroups: ['apiextensions.k8s.io'],
        apiVersions: ['v1'],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        resources: ['customresourcedefinitions'],
      }),
    ],
  };
  await bundle.controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(configuration) });
}
