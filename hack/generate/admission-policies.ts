// The same without a webhook: policies that the API server evaluates itself. They do what needs neither other
// objects nor a database; docs/admission.md has the differences.
import { PERMITTED_CONFIG_MAP } from '../../src/api/ingester/permitted.ts';
import { INGESTER_GROUP, INGESTER_PLURAL, MIGRATED_VERSION_PATH, VERSION_PATH } from '../../src/api/ingester/spec.ts';
import type { KindDefinition, VersionField } from '../../src/api/kind.ts';
import {
  ALLOW_CRD_DELETE_ANNOTATION,
  ALLOW_DOWNGRADE_ANNOTATION,
  DELETING_ANNOTATION,
  FINALIZER,
  GROUP,
  IMMUTABLE_ANNOTATION,
} from '../../src/api/names.ts';
import {
  crdDeletionNotPermitted,
  crdRule,
  finalizerConditions,
  labels,
  NAMESPACE,
  notDeleting,
  notReconciler,
  objectRule,
  ourCrd,
  ourGroups,
  page,
  protectedMarks,
  rule,
} from './admission.ts';
import { decisionByPolicy } from './decision-policy.ts';
import { ingesterValidation, ingesterVariables } from './ingester-policy.ts';

const API_VERSION = 'admissionregistration.k8s.io/v1';
const MARKS = JSON.stringify([DELETING_ANNOTATION, IMMUTABLE_ANNOTATION]);

export function admissionPolicies(kinds: readonly KindDefinition[]): readonly object[] {
  return [
    finalizerPolicy(kinds),
    bindingOf('MutatingAdmissionPolicyBinding', 'ingester-finalizer', {}),
    objectPolicy(kinds),
    bindingOf('ValidatingAdmissionPolicyBinding', 'ingester-objects', { validationActions: ['Deny'] }),
    newObjectPolicy(),
    bindingOf('ValidatingAdmissionPolicyBinding', 'ingester-new-objects', { validationActions: ['Deny'] }),
    ingesterPolicy(),
    bindingOf('ValidatingAdmissionPolicyBinding', 'ingester-permitted', {
      validationActions: ['Deny'],
      // Without it the policy would not know what an administrator permits, and the controller judges alone.
      paramRef: { name: PERMITTED_CONFIG_MAP, namespace: NAMESPACE, parameterNotFoundAction: 'Allow' },
    }),
    versionPolicy(),
    bindingOf('ValidatingAdmissionPolicyBinding', 'ingester-versions', { validationActions: ['Deny'] }),
    decisionByPolicy(),
    bindingOf('MutatingAdmissionPolicyBinding', 'ingester-decision-by', {}),
    crdDeletionPolicy(),
    bindingOf('ValidatingAdmissionPolicyBinding', 'ingester-crd-deletion', { validationActions: ['Deny'] }),
  ];
}

function bindingOf(kind: string, policyName: string, more: object): object {
  return { apiVersion: API_VERSION, kind, metadata: { name: policyName, labels }, spec: { policyName, ...more } };
}

interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** What the annotation names. */
const permitted: Variable = {
  name: 'permitted',
  expression: `object.metadata.?annotations[?"${ALLOW_DOWNGRADE_ANNOTATION}"].orValue("").split(",").map(target, target.trim())`,
};

/** The patches of webhooks/policies/finalizer.ts. The marks come first, while the finalizer is still missing. */
function finalizerPolicy(kinds: readonly KindDefinition[]): object {
  const variables: readonly Variable[] = [
    {
      name: 'wasGuarded',
      expression: `oldObject != null && has(oldObject.metadata.finalizers) && "${FINALIZER}" in oldObject.metadata.finalizers`,
    },
    { name: 'before', expression: 'oldObject == null ? {} : oldObject.metadata.?annotations.orValue({})' },
    { name: 'after', expression: 'object.metadata.?annotations.orValue({})' },
    {
      name: 'lost',
      expression: `variables.wasGuarded ? ${MARKS}.filter(mark, mark in variables.before && variables.before[mark] == "true" && !(mark in variables.after)) : []`,
    },
  ];
  const restore =
    '(size(variables.lost) == 0 || has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) + ' +
    'variables.lost.map(mark, JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey(mark), value: "true"})';
  const add = `[has(object.metadata.finalizers) ? JSONPatch{op: "add", path: "/metadata/finalizers/-", value: "${FINALIZER}"} : JSONPatch{op: "add", path: "/metadata/finalizers", value: ["${FINALIZER}"]}]`;
  return {
    apiVersion: API_VERSION,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'ingester-finalizer', labels },
    spec: {
      matchConstraints: { resourceRules: [objectRule(kinds)], matchPolicy: 'Equivalent' },
      matchConditions: finalizerConditions,
      variables,
      mutations: [restore, add].map((expression) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })),
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
    },
  };
}

interface Validation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason: 'Forbidden';
}

function objectPolicy(kinds: readonly KindDefinition[]): object {
  const fields = kinds
    .filter(({ downgrades }) => downgrades === 'deny')
    .flatMap((kind) => kind.versionFields.map((field) => fieldRule(kind, field)))
    .filter((rule) => rule !== undefined);
  return {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'ingester-objects', labels },
    spec: {
      matchConstraints: { resourceRules: [objectRule(kinds)], matchPolicy: 'Equivalent' },
      matchConditions: [notDeleting, notReconciler],
      variables: [
        permitted,
        {
          name: 'marksSet',
          expression: `${JSON.stringify(protectedMarks)}.filter(mark, object.metadata.?annotations[?mark].orValue("") == "true" && (oldObject == null || oldObject.metadata.?annotations[?mark].orValue("") != "true"))`,
        },
        ...fields.flatMap(({ variables }) => variables),
      ],
      validations: [...markRules, ...fields.map(({ validation }) => validation)],
      failurePolicy: 'Fail',
    },
  };
}

const markRules: readonly Validation[] = [
  {
    expression: `oldObject != null || !("${DELETING_ANNOTATION}" in variables.marksSet)`,
    message: `a new object must not carry ${DELETING_ANNOTATION}: it would leave the cluster at once, each time it is applied; remove it from the manifest${page('protect-marks')}`,
    reason: 'Forbidden',
  },
  {
    // A new object may be born for eviction.
    expression:
      `variables.marksSet.all(mark, oldObject == null && mark == "${IMMUTABLE_ANNOTATION}") || ` +
      'authorizer.group(request.resource.group).resource(request.resource.resource).namespace(request.namespace).name(request.name).check("delete").allowed()',
    messageExpression:
      `variables.marksSet.map(mark, mark == "${IMMUTABLE_ANNOTATION}" ? "the eviction annotation" : mark).join(" and ") + ` +
      `" needs the right to delete this object; ask for the verb delete on its resource${page('protect-marks')}"`,
    reason: 'Forbidden',
  },
];

interface FieldRule {
  readonly variables: readonly Variable[];
  readonly validation: Validation;
}

/** Expressions of the value before and after; `backward` says when `to` is older than `from`. */
interface Comparison {
  readonly empty: string;
  readonly backward: string;
  /** What an override has to name, as text. */
  readonly target: string;
  /** What is wrong with it, as text. */
  readonly what: string;
}

const IS_DOWNGRADE = '" is a downgrade"';

/** As src/base/semver.ts reads a version, but for numbers of more digits than the expression language counts. */
function isVersion(text: string): string {
  const number = '(0|[1-9][0-9]{0,17})';
  const pattern = `^v?${number}(\\\\.${number}){2}(-[0-9A-Za-z.-]+)?(\\\\+[0-9A-Za-z.-]+)?$`;
  return `(size(${text}) <= 256 && ${text}.matches("${pattern}"))`;
}

/** Releases are compared, and a release with its own pre-releases; pre-releases of one release are not. */
function isOlder(from: string, to: string): string {
  const core = (text: string): string => `semver(${text}.replace("v", "", 1).split("+")[0].split("-")[0])`;
  const isPreRelease = (text: string): string =>
    `${text}.matches("^v?[0-9.]+-(?i:alpha|beta|a|b|rc|cr|pre|preview|m|milestone|snapshot)([-+.0-9]|$)")`;
  const sameCore = `${core(to)}.compareTo(${core(from)}) == 0`;
  return `(${core(to)}.isLessThan(${core(from)}) || (${sameCore} && ${isPreRelease(to)} && !${isPreRelease(from)}))`;
}

/** Undefined for orders that the expression language cannot compare as the webhook does. */
function fieldRule({ plural }: KindDefinition, field: VersionField): FieldRule | undefined {
  const name = `${plural}_${field.path.join('_')}`;
  const [from, to] = [`variables.${name}_from`, `variables.${name}_to`];
  const comparison = comparisonOf(field, from, to);
  if (comparison === undefined) return undefined;
  const { empty, backward, target, what } = comparison;
  const path = field.path.join('.?');
  const path0 = field.path.join('.');
  const hint = `"; to permit it set annotation ${ALLOW_DOWNGRADE_ANNOTATION}=" + ${target} + "${page('content-downgrade')}"`;
  return {
    variables: [
      { name: `${name}_to`, expression: `object.?${path}.orValue(${empty})` },
      // A new object comes from nowhere.
      { name: `${name}_from`, expression: `oldObject == null ? ${to} : oldObject.?${path}.orValue(${empty})` },
    ],
    validation: {
      expression: `request.resource.resource != "${plural}" || !(${backward}) || ${target} in variables.permitted`,
      messageExpression: `"${path0} " + string(${from}) + " -> " + ${target} + ${what} + ${hint}`,
      reason: 'Forbidden',
    },
  };
}

function comparisonOf(field: VersionField, from: string, to: string): Comparison | undefined {
  switch (field.order) {
    case 'integer':
      return { empty: '0', backward: `${to} < ${from}`, target: `string(${to})`, what: IS_DOWNGRADE };
    case 'flag':
      return { empty: 'false', backward: `${from} && !${to}`, target: '"false"', what: IS_DOWNGRADE };
    case 'semver':
      return {
        empty: '""',
        // What has no order is left for anything, and nothing with an order for it.
        backward: `${from} != "" && ${from} != ${to} && (${to} == "" || (${isVersion(from)} && (!${isVersion(to)} || ${isOlder(from, to)})))`,
        target: `(${to} == "" ? "none" : ${to})`,
        what: `(${to} == "" || ${isVersion(to)} ? ${IS_DOWNGRADE} : " cannot be compared")`,
      };
    case 'semver-or-name':
    case 'integer-or-name':
    case 'numbered-name':
    case 'terminal':
      return undefined;
  }
}

/** What webhooks/policies/born-deleting.ts refuses, of every kind of the group and of their definitions. */
function newObjectPolicy(): object {
  return {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'ingester-new-objects', labels },
    spec: {
      matchConstraints: {
        resourceRules: [
          rule(GROUP, ['*'], ['CREATE'], ['*']),
          rule(INGESTER_GROUP, ['*'], ['CREATE'], ['*']),
          crdRule('CREATE'),
        ],
        matchPolicy: 'Equivalent',
      },
      matchConditions: [
        {
          name: 'our-group',
          expression: `request.resource.group in ${ourGroups} || object.spec.group in ${ourGroups}`,
        },
      ],
      validations: ['deletionTimestamp', 'deletionGracePeriodSeconds'].map((field) => ({
        expression: `object.metadata.?${field}.orValue(null) == null`,
        message: `a new object must not carry metadata.${field}: only the API server sets it; remove it from the manifest${page('born-deleting')}`,
        reason: 'Forbidden',
      })),
      failurePolicy: 'Fail',
    },
  };
}

/** What webhooks/policies/ingester-permitted.ts refuses. */
function ingesterPolicy(): object {
  return {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'ingester-permitted', labels },
    spec: {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: {
        resourceRules: [rule(INGESTER_GROUP, ['*'], ['CREATE', 'UPDATE'], [INGESTER_PLURAL])],
        matchPolicy: 'Equivalent',
      },
      matchConditions: [
        notDeleting,
        { name: 'asks-for-else', expression: 'oldObject == null || object.spec != oldObject.spec' },
        { name: 'where-the-controller-acts', expression: `request.namespace == "${NAMESPACE}"` },
      ],
      variables: ingesterVariables,
      validations: [ingesterValidation],
      failurePolicy: 'Fail',
    },
  };
}

/**
 * What webhooks/policies/ingester-downgrade.ts refuses of an update. One that is created is held back by the lifecycle
 * controller, which knows from the admission record what was migrated for the one before.
 */
function versionPolicy(): object {
  const [from, to] = ['variables.from', 'variables.to'];
  const compared = `(${isVersion(from)} && ${isVersion(to)})`;
  const permits = `${from} + ":" + ${to}`;
  const text = (object: string, path: readonly string[]): string => `${object}.?${path.join('.?')}.orValue("")`;
  return {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'ingester-versions', labels },
    spec: {
      matchConstraints: {
        resourceRules: [rule(INGESTER_GROUP, ['*'], ['UPDATE'], [INGESTER_PLURAL])],
        matchPolicy: 'Equivalent',
      },
      matchConditions: [notDeleting],
      variables: [
        permitted,
        { name: 'from', expression: text('oldObject', MIGRATED_VERSION_PATH) },
        { name: 'to', expression: text('object', VERSION_PATH) },
      ],
      validations: [
        {
          expression: `${to} in [${text('oldObject', VERSION_PATH)}, ${from}] || ${from} == "" || (${compared} && !${isOlder(from, to)}) || ${permits} in variables.permitted`,
          messageExpression: `"spec.version " + ${to} + (${compared} ? " is older than" : " cannot be compared with") + " the migrated " + ${from} + "; to permit it set annotation ${ALLOW_DOWNGRADE_ANNOTATION}=" + ${permits} + "${page('ingester-downgrade')}"`,
          reason: 'Forbidden',
        },
      ],
      failurePolicy: 'Fail',
    },
  };
}

function crdDeletionPolicy(): object {
  return {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'ingester-crd-deletion', labels },
    spec: {
      matchConstraints: { resourceRules: [crdRule('DELETE')] },
      matchConditions: [ourCrd, crdDeletionNotPermitted],
      validations: [
        {
          expression: 'false',
          messageExpression: `"deleting CRD " + request.name + " deletes all its objects; to permit it set annotation ${ALLOW_CRD_DELETE_ANNOTATION}=true on it${page('crd-deletion')}"`,
          reason: 'Forbidden',
        },
      ],
      failurePolicy: 'Fail',
    },
  };
}
