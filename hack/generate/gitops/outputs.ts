// What Argo CD and Flux have to know about our kinds.
import { stringify } from 'yaml';
import { INGESTER_GROUP, INGESTER_KIND } from '../../../src/api/ingester/spec.ts';
import type { KindDefinition } from '../../../src/api/kind.ts';
import { FINALIZER, GROUP } from '../../../src/api/names.ts';
import { generatedNotice, type Output } from '../output.ts';
import { healthCheckExpressions } from './cel.ts';
import {
  type Action,
  applicationHealth,
  discoveryScript,
  healthScripts,
  ingesterActions,
  objectActions,
} from './lua.ts';

const SOURCE = 'hack/generate/gitops';

export function gitopsOutputs(kinds: readonly KindDefinition[]): readonly Output[] {
  const data = argocdSettings(kinds.filter(({ optional }) => !optional).map(({ kind }) => kind));
  const configMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: 'argocd' },
    data,
  };
  return [
    output('config/argocd/customizations/argocd-cm.yaml', configMap),
    output('config/argocd/customizations/values.yaml', { configs: { cm: data } }),
    output('config/flux/instances.yaml', instances()),
  ];
}

function output(path: string, document: object): Output {
  return { path, content: generatedNotice('#', SOURCE) + stringify(document, { lineWidth: 0 }) };
}

/** Keys of argocd-cm. Each customization is a key of its own, so a patch leaves those of others alone. */
function argocdSettings(kinds: readonly string[]): Readonly<Record<string, string>> {
  const customization = (what: string, kind: string): string =>
    `resource.customizations.${what}.${kind === INGESTER_KIND ? INGESTER_GROUP : GROUP}_${kind}`;
  const drift = ignored(`.metadata.finalizers[]? | select(. == "${FINALIZER}")`);
  const noise = stringify({
    jsonPointers: [
      '/metadata/labels/michelangelo~1UpdateTimestamp',
      '/metadata/labels/michelangelo~1SpecUpdateTimestamp',
    ],
  });
  return Object.fromEntries([
    // Without it the waves of an app of apps do not wait for each other.
    ['resource.customizations.health.argoproj.io_Application', applicationHealth] as const,
    // Argo CD's own, on an Application with a hook such as that of the component uninstall-hook.
    ['resource.customizations.ignoreDifferences.argoproj.io_Application', ignored(hookFinalizers)] as const,
    ...[...healthScripts()].map(([kind, script]) => [customization('health', kind), script] as const),
    ...kinds.map((kind) => [customization('actions', kind), actionsText(objectActions)] as const),
    [customization('actions', INGESTER_KIND), actionsText(ingesterActions)] as const,
    ...kinds.map((kind) => [customization('ignoreDifferences', kind), drift] as const),
    ...kinds.map((kind) => [customization('ignoreResourceUpdates', kind), noise] as const),
  ]);
}

const hookFinalizers = '.metadata.finalizers[]? | select(test("^(pre|post)-delete-finalizer"))';

function ignored(jqPathExpression: string): string {
  return stringify({ jqPathExpressions: [jqPathExpression] });
}

function actionsText(actions: readonly Action[]): string {
  return stringify({
    'discovery.lua': discoveryScript(actions),
    definitions: actions.map(({ name, lua }) => ({ name, 'action.lua': lua })),
  });
}

/** Run-to-completion kinds are better off in a Kustomization of their own, with `wait: false`. */
function instances(): object {
  return {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'ingester-instances', namespace: 'flux-system' },
    spec: {
      interval: '10m',
      retryInterval: '1m',
      timeout: '5m',
      sourceRef: { kind: 'GitRepository', name: 'ingester' },
      path: './config/samples',
      dependsOn: [{ name: 'ingester-bundle' }],
      prune: true,
      wait: true,
      // Objects go only when MySQL has their final state.
      deletionPolicy: 'WaitForTermination',
      postBuild: { substituteFrom: [{ kind: 'ConfigMap', name: 'ingester-tombstones', optional: true }] },
      healthCheckExprs: healthCheckExpressions(),
    },
  };
}
