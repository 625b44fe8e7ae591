// The registrations of the webhooks. They are narrow: the API server asks only where a policy could say something else
// than yes. Each condition is written so that it cannot fail for an object that the API server would store: one that
// fails refuses the request.
import { INGESTER_GROUP, INGESTER_PLURAL } from '../../src/api/ingester/spec.ts';
import type { KindDefinition, VersionField } from '../../src/api/kind.ts';
import {
  ALLOW_CRD_DELETE_ANNOTATION,
  DELETING_ANNOTATION,
  FINALIZER,
  GROUP,
  IMMUTABLE_ANNOTATION,
  knownAnnotations,
  knownLabels,
  SYSTEM_PREFIX,
  UNGUARDED_ANNOTATION,
  VERSION,
} from '../../src/api/names.ts';
import { DELETION_FIELDS } from '../../src/api/object.ts';
import { bringsDecision } from './decisions.ts';

export const NAMESPACE = 'ingester-system';
const RECONCILER = 'ingester-reconciler';
export const labels = { 'app.kubernetes.io/name': 'michelangelo-ingester' };

interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/**
 * A controller that removes its finalizer from an object that is being deleted never waits for a webhook. Only the old
 * object shows the deletion: the client chooses what the new one holds, and a server-side apply that creates an object
 * keeps it.
 */
export const notDeleting: MatchCondition = {
  name: 'not-deleting',
  expression: 'oldObject == null || !has(oldObject.metadata.deletionTimestamp)',
};

/**
 * The reconciler works on while every webhook is down. Namespace and name are texts of their own, so that kustomize can
 * replace what is between the quotes where a user renames them.
 */
export const notReconciler: MatchCondition = {
  name: 'not-reconciler',
  expression: `request.operation == "CREATE" || request.userInfo.username != "system:serviceaccount:" + "${NAMESPACE}" + ":" + "${RECONCILER}"`,
};

const needsFinalizer: MatchCondition = {
  name: 'needs-finalizer',
  expression: `!has(object.metadata.finalizers) || !("${FINALIZER}" in object.metadata.finalizers)`,
};

/** Every create, which is judged by the same call; ordinary updates make none. */
const createOrNeedsFinalizer: MatchCondition = {
  name: 'create-or-needs-finalizer',
  expression: `oldObject == null || ${needsFinalizer.expression}`,
};

/** Who set that mark had the right to delete; a create is guarded all the same. */
const notOptedOut: MatchCondition = {
  name: 'not-opted-out',
  expression: `oldObject == null || object.metadata.?annotations[?"${UNGUARDED_ANNOTATION}"].orValue("") != "true"`,
};

/** What the finalizer is put on, for webhook and policy alike. */
export const finalizerConditions: readonly MatchCondition[] = [notDeleting, notReconciler, needsFinalizer, notOptedOut];

/** Annotations that need the right to delete. */
export const protectedMarks: readonly string[] = [DELETING_ANNOTATION, IMMUTABLE_ANNOTATION, UNGUARDED_ANNOTATION];

/** As webhooks/policy.ts ends a refusal: each rule has a heading of its name. */
export const page = (policy: string): string => ` (docs/admission.md#${policy})`;

export const ourGroups: string = JSON.stringify([GROUP, INGESTER_GROUP]);
/** CRDs of the ingested kinds, and the one of Ingester. */
export const ourCrd: MatchCondition = { name: 'our-group', expression: `oldObject.spec.group in ${ourGroups}` };

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
        matchConditions: [notDeleting, notReconciler, createOrNeedsFinalizer, notOptedOut],
        // An object without the finalizer is worse than one that has to be created again.
        failurePolicy: 'Fail',
        // A create is judged here: what a later webhook makes of it is judged again.
        reinvocationPolicy: 'IfNeeded',
      },
      {
        name: 'decisions.ingester.michelangelo.api',
        ...calls('/mutate'),
        rules: [rule(INGESTER_GROUP, ['*'], ['UPDATE'], [INGESTER_PLURAL])],
        matchConditions: [notDeleting, bringsDecision],
        // A policy of the API server refuses a decision without its user, who can write the name as well.
        failurePolicy: 'Ignore',
      },
    ],
  };
}

export function validatingWebhooks(
  kinds: readonly KindDefinition[],
  openFields: readonly (readonly string[])[],
): Registration {
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
        rules: [rule(INGESTER_GROUP, ['*'], ['CREATE', 'UPDATE'], [INGESTER_PLURAL])],
        matchConditions: [notDeleting],
        failurePolicy: 'Fail',
      },
      {
        name: 'crd-changes.ingester.michelangelo.api',
        ...calls('/validate'),
        rules: [crdRule('CREATE', 'UPDATE')],
        matchConditions: [
          { name: 'our-group', expression: `object.spec.group in ${ourGroups}` },
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
      openFieldUpdates(kinds, openFields),
      unknownNames(kinds),
    ],
  };
}

export const crdDeletionNotPermitted: MatchCondition = {
  name: 'not-permitted',
  expression: `!has(oldObject.metadata.deletionTimestamp) && (!has(oldObject.metadata.annotations) || !("${ALLOW_CRD_DELETE_ANNOTATION}" in oldObject.metadata.annotations) || oldObject.metadata.annotations["${ALLOW_CRD_DELETE_ANNOTATION}"] != "true")`,
};

/**
 * Updates of fields in which an object can be nested without end, or any text is taken for a duration. Creates are judged by
 * `finalizer`. What passes while no webhook answers can be stored all the same, so no update waits for one; the expression
 * language of the API server cannot count levels: it takes 20 seconds of its processor for a list of 50,000 numbers.
 */
function openFieldUpdates(kinds: readonly KindDefinition[], openFields: readonly (readonly string[])[]): object {
  const expression = openFields.map((path) => changed(`.?${path.join('.?')}`)).join(' || ');
  return advisoryOnUpdates('open-fields.ingester.michelangelo.api', kinds, { name: 'changes-open-field', expression });
}

/** Updates that bring a name of our prefix which nothing reads: only warned about, so no update waits for a webhook. */
function unknownNames(kinds: readonly KindDefinition[]): object {
  const brings = (map: string, known: readonly string[]): string =>
    `object.metadata.?${map}.orValue({}).exists(name, name.startsWith("${SYSTEM_PREFIX}") && ` +
    `!(name in ${JSON.stringify(known)}) && !(name in oldObject.metadata.?${map}.orValue({})))`;
  const expression = `${brings('annotations', knownAnnotations)} || ${brings('labels', knownLabels)}`;
  return advisoryOnUpdates('unknown-names.ingester.michelangelo.api', kinds, {
    name: 'brings-an-unknown-name',
    expression,
  });
}

/** An update that the condition concerns is told about, and passes where no webhook answers. */
function advisoryOnUpdates(name: string, kinds: readonly KindDefinition[], condition: object): object {
  return {
    name,
    ...calls('/validate'),
    rules: [{ ...rule(GROUP, [VERSION], ['UPDATE'], kinds.map(pluralOf)), scope: 'Namespaced' }],
    matchConditions: [notDeleting, notReconciler, condition],
    failurePolicy: 'Ignore',
    timeoutSeconds: 1,
  };
}

/**
 * An update through another version, or that changes a mark or a version field. Of creates, which `finalizer` judges, only
 * those that carry a mark, which a later webhook may have set, or what a POST loses before it is stored.
 */
function concernsRule(kinds: readonly KindDefinition[]): MatchCondition {
  const paths = kinds.flatMap((kind) => kind.versionFields.filter(({ path }) => path[0] === 'spec'));
  const changes = [...new Set(paths.map(({ path }) => changed(`.?${path.join('.?')}`)))];
  const other = `request.requestKind.version != "${VERSION}"`;
  const updates = [other, ...markPaths.map(changed), ...changes].join(' || ');
  const creates = [...DELETION_FIELDS.map(present), ...markPaths.map((path) => `object${path}.hasValue()`)].join(
    ' || ',
  );
  return { name: 'concerns-a-rule', expression: `oldObject == null ? ${creates} : ${updates}` };
}

const markPaths = protectedMarks.map((mark) => `.metadata.?annotations[?"${mark}"]`);

function present(field: string): string {
  return `has(object.metadata.${field})`;
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
  return { ...rule(GROUP, [VERSION], ['CREATE', 'UPDATE'], kinds.map(pluralOf)), scope: 'Namespaced' };
}

function pluralOf({ plural }: KindDefinition): string {
  return plural;
}

export function crdRule(...operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[]): object {
  return rule('apiextensions.k8s.io', ['v1'], operations, ['customresourcedefinitions']);
}

export function rule(
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
