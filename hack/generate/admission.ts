// The registrations of the webhooks. They are narrow: the API server asks only where a policy could say something else
// than yes. Each condition is written so that it cannot fail for an object that the API server would store: one that
// fails refuses the request.
import { INGESTER_PLURAL } from '../../src/api/ingester.ts';
import type { KindDefinition, VersionField } from '../../src/api/kind.ts';
import {
  ALLOW_CRD_DELETE_ANNOTATION,
  DELETING_ANNOTATION,
  FINALIZER,
  GROUP,
  IMMUTABLE_ANNOTATION,
  VERSION,
} from '../../src/api/names.ts';

const NAMESPACE = 'ingester-system';
const RECONCILER = 'ingester-reconciler';
export const labels = { 'app.kubernetes.io/name': 'michelangelo-ingester' };

interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Whoever cleans up an object that is being deleted never waits for a webhook. */
export const notDeleting: MatchCondition = {
  name: 'not-deleting',
  expression:
    '!has(object.metadata.deletionTimestamp) && (oldObject == null || !has(oldObject.metadata.deletionTimestamp))',
};

/**
 * The reconciler works on while every webhook is down. Namespace and name are texts of their own, so that kustomize can
 * replace what is between the quotes where a user renames them.
 */
export const notReconciler: MatchCondition = {
  name: 'not-reconciler',
  expression: `request.operation == "CREATE" || request.userInfo.username != "system:serviceaccount:" + "${NAMESPACE}" + ":" + "${RECONCILER}"`,
};

/** Ordinary updates, and creates by clients that set the finalizer themselves, make no call. */
const needsFinalizer: MatchCondition = {
  name: 'needs-finalizer',
  expression: `!has(object.metadata.finalizers) || !("${FINALIZER}" in object.metadata.finalizers)`,
};

/** What the finalizer is put on, for webhook and policy alike. */
export const guardConditions: readonly MatchCondition[] = [notDeleting, notReconciler, needsFinalizer];

/** CRDs of our group, the one of Ingester among them. */
export const ourCrd: MatchCondition = { name: 'our-group', expression: `oldObject.spec.group == "${GROUP}"` };

interface Registration {
  readonly webhooks: readonly object[];
  readonly [field: string]: unknown;
}

/** A patch that has a local process called instead of a Service; the address is filled in later. */
export function calledByUrl({ webhooks }: Registration): readonly object[] {
  return webhooks.flatMap((_webhook, index) => [
    { op: 'remove', path: `/webhooks/${index}/clientConfig/service` },
    { op: 'add', path: `/webhooks/${index}/clientConfig/url`, value: 'https://filled.in' },
    { op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: '' },
  ]);
}

export function mutatingWebhook(kinds: readonly KindDefinition[]): Registration {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'ingester-finalizer', labels },
    webhooks: [
      {
        name: 'finalizer.ingester.michelangelo.api',
        ...calls('/mutate'),
        rules: [objectRule(kinds)],
        matchConditions: guardConditions,
        // An object without the finalizer is worse than one that has to be created again.
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
      },
    ],
  };
}

export function validatingWebhooks(kinds: readonly KindDefinition[]): Registration {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'ingester-rules', labels },
    webhooks: [
      {
        name: 'objects.ingester.michelangelo.api',
        ...calls('/validate'),
        rules: [objectRule(kinds)],
        matchConditions: [notDeleting, notReconciler, concernsRule(kinds)],
        failurePolicy: 'Fail',
      },
      ...finishedRuns(kinds),
      {
        name: 'ingesters.ingester.michelangelo.api',
        ...calls('/validate'),
        rules: [rule(GROUP, ['*'], ['CREATE', 'UPDATE'], [INGESTER_PLURAL])],
        matchConditions: [notDeleting],
        failurePolicy: 'Fail',
      },
      {
        name: 'crd-changes.ingester.michelangelo.api',
        ...calls('/validate'),
        rules: [crdRule('CREATE', 'UPDATE')],
        matchConditions: [
          { name: 'our-group', expression: `object.spec.group == "${GROUP}"` },
          notDeleting,
          { name: 'changes', expression: 'oldObject == null || object.spec != oldObject.spec' },
        ],
        // An upgrade must be able to install the CRDs and the webhook in one go.
        failurePolicy: 'Ignore',
      },
      {
        name: 'crd-deletions.ingester.michelangelo.api',
        ...calls('/validate'),
        rules: [crdRule('DELETE')],
        matchConditions: [ourCrd, crdDeletionNotPermitted],
        // What is permitted by its annotation makes no call, so an uninstallation never waits.
        failurePolicy: 'Fail',
      },
    ],
  };
}

export const crdDeletionNotPermitted: MatchCondition = {
  name: 'not-permitted',
  expression: `!has(oldObject.metadata.deletionTimestamp) && (!has(oldObject.metadata.annotations) || !("${ALLOW_CRD_DELETE_ANNOTATION}" in oldObject.metadata.annotations) || oldObject.metadata.annotations["${ALLOW_CRD_DELETE_ANNOTATION}"] != "true")`,
};

/** A create, a write through another version, a mark that changes, or a version field that changes. */
function concernsRule(kinds: readonly KindDefinition[]): MatchCondition {
  const paths = kinds.flatMap((kind) => kind.versionFields.filter(({ path }) => path[0] === 'spec'));
  const changes = [...new Set(paths.map(({ path }) => changed(`.?${path.join('.?')}`)))];
  const marks = [DELETING_ANNOTATION, IMMUTABLE_ANNOTATION].map((mark) =>
    changed(`.metadata.?annotations[?"${mark}"]`),
  );
  const other = `request.requestKind.version != "${VERSION}"`;
  return { name: 'concerns-a-rule', expression: ['oldObject == null', other, ...marks, ...changes].join(' || ') };
}

function changed(path: string): string {
  return `object${path} != oldObject${path}`;
}

/**
 * Status writes of finished runs that turn the state back, and no other status write. They are warned about and never
 * refused, so they need not wait.
 */
function finishedRuns(kinds: readonly KindDefinition[]): readonly object[] {
  const finals = kinds.flatMap((kind) => kind.versionFields.filter(isFinal).map((field) => ({ kind, field })));
  const states = [...new Set(finals.flatMap(({ field }) => field.terminal ?? []))];
  const [path] = new Set(finals.map(({ field }) => `.?${field.path.join('.?')}`));
  if (path === undefined) return [];
  const plurals = [...new Set(finals.map(({ kind }) => `${kind.plural}/status`))];
  return [
    {
      name: 'finished-runs.ingester.michelangelo.api',
      ...calls('/validate'),
      rules: [rule(GROUP, [VERSION], ['UPDATE'], plurals)],
      matchConditions: [
        notDeleting,
        {
          name: 'turns-back',
          expression: `${changed(path)} && oldObject${path}.orValue("") in ${JSON.stringify(states)}`,
        },
      ],
      failurePolicy: 'Ignore',
    },
  ];
}

function isFinal({ order, path }: VersionField): boolean {
  return order === 'terminal' && path[0] === 'status';
}

export function objectRule(kinds: readonly KindDefinition[]): object {
  const plurals = kinds.map(({ plural }) => plural);
  return { ...rule(GROUP, [VERSION], ['CREATE', 'UPDATE'], plurals), scope: 'Namespaced' };
}

export function crdRule(...operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[]): object {
  return rule('apiextensions.k8s.io', ['v1'], operations, ['customresourcedefinitions']);
}

function rule(
  group: string,
  apiVersions: readonly string[],
  operations: readonly string[],
  resources: readonly string[],
): object {
  return { apiGroups: [group], apiVersions, operations, resources };
}

function calls(path: string): object {
  return {
    admissionReviewVersions: ['v1'],
    clientConfig: { service: { name: 'ingester-webhook', namespace: NAMESPACE, path, port: 443 } },
    matchPolicy: 'Equivalent',
    sideEffects: 'None',
    timeoutSeconds: 5,
  };
}
