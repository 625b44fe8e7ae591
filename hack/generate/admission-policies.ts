// The same without a webhook: policies that the API server evaluates itself. They do what needs neither memory of other
// objects nor a database; docs/admission.md has the differences.
import type { KindDefinition, VersionField } from '../../src/api/kind.ts';
import {
  ALLOW_DOWNGRADE_ANNOTATION,
  DELETING_ANNOTATION,
  FINALIZER,
  IMMUTABLE_ANNOTATION,
} from '../../src/api/names.ts';
import {
  crdDeletionNotPermitted,
  crdRule,
  guardConditions,
  labels,
  notDeleting,
  notReconciler,
  objectRule,
  ourCrd,
} from './admission.ts';

const API_VERSION = 'admissionregistration.k8s.io/v1';
const MARKS = JSON.stringify([DELETING_ANNOTATION, IMMUTABLE_ANNOTATION]);

export function admissionPolicies(kinds: readonly KindDefinition[]): readonly object[] {
  return [
    finalizerPolicy(kinds),
    bindingOf('MutatingAdmissionPolicyBinding', 'ingester-finalizer', {}),
    objectPolicy(kinds),
    bindingOf('ValidatingAdmissionPolicyBinding', 'ingester-objects', { validationActions: ['Deny'] }),
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
      matchConditions: guardConditions,
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
        {
          name: 'permitted',
          expression: `object.metadata.?annotations[?"${ALLOW_DOWNGRADE_ANNOTATION}"].orValue("").split(",").map(target, target.trim())`,
        },
        {
          name: 'marksSet',
          expression: `${MARKS}.filter(mark, object.metadata.?annotations[?mark].orValue("") == "true" && (oldObject == null || oldObject.metadata.?annotations[?mark].orValue("") != "true"))`,
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
    expression: 'oldObject != null || size(variables.marksSet) == 0',
    message:
      'a new object must not be marked: it would leave the cluster at once, each time it is applied; remove the annotation from the manifest',
    reason: 'Forbidden',
  },
  {
    expression:
      'oldObject == null || size(variables.marksSet) == 0 || authorizer.group(request.resource.group).resource(request.resource.resource).namespace(request.namespace).name(request.name).check("delete").allowed()',
    message: 'the annotation needs the right to delete this object; ask for the verb delete on its resource',
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
}

/** Undefined for orders that the expression language cannot compare as the webhook does. */
function fieldRule({ plural }: KindDefinition, field: VersionField): FieldRule | undefined {
  const name = `${plural}_${field.path.join('_')}`;
  const [from, to] = [`variables.${name}_from`, `variables.${name}_to`];
  const comparison = comparisonOf(field, from, to);
  if (comparison === undefined) return undefined;
  const { empty, backward, target } = comparison;
  const path = field.path.join('.?');
  const path0 = field.path.join('.');
  const hint = `"; to permit it set annotation ${ALLOW_DOWNGRADE_ANNOTATION}=" + ${target}`;
  return {
    variables: [
      { name: `${name}_from`, expression: `oldObject == null ? ${empty} : oldObject.?${path}.orValue(${empty})` },
      { name: `${name}_to`, expression: `object.?${path}.orValue(${empty})` },
    ],
    validation: {
      expression: `request.resource.resource != "${plural}" || !(${backward}) || ${target} in variables.permitted`,
      messageExpression: `"${path0} " + string(${from}) + " -> " + ${target} + " is a downgrade" + ${hint}`,
      reason: 'Forbidden',
    },
  };
}

function comparisonOf(field: VersionField, from: string, to: string): Comparison | undefined {
  switch (field.order) {
    case 'integer':
      return { empty: '0', backward: `${to} >= 0 && ${to} < ${from}`, target: `string(${to})` };
    case 'flag':
      return { empty: 'false', backward: `${from} && !${to}`, target: '"false"' };
    case 'semver': {
      const plain = [from, to].map((text) => `${text}.matches("^(0|[1-9][0-9]*)(\\\\.(0|[1-9][0-9]*)){2}$")`);
      const older = `${plain.join(' && ')} && semver(${to}).isLessThan(semver(${from}))`;
      return {
        empty: '""',
        backward: `${from} != "" && (${to} == "" || (${older}))`,
        target: `(${to} == "" ? "none" : ${to})`,
      };
    }
    case 'semver-or-name':
    case 'integer-or-name':
    case 'numbered-name':
    case 'terminal':
      return undefined;
  }
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
          messageExpression:
            '"deleting CRD " + request.name + " deletes all its objects; to permit it set annotation michelangelo/allow-crd-delete=true on it"',
          reason: 'Forbidden',
        },
      ],
      failurePolicy: 'Fail',
    },
  };
}
