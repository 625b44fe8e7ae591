// Who decided on a change that waits for an approval: a policy of the API server itself refuses the name of another user. What
// fills in the name, the webhook or a policy, is a convenience: without it the user writes the name, and the rule is the same.
import { type Decision, decisions } from '../../src/api/ingester/decisions.ts';
import { INGESTER_GROUP, INGESTER_PLURAL } from '../../src/api/ingester/spec.ts';
import { labels, notDeleting, page, rule } from './admission.ts';
import { annotation, brings, bringsDecision } from './decisions.ts';

const API_VERSION = 'admissionregistration.k8s.io/v1';

const ingesterUpdates = rule(INGESTER_GROUP, ['*'], ['UPDATE'], [INGESTER_PLURAL]);

/** A token that was there before, with the name that was there before, is not of this user. */
function namesItsUser({ token, by }: Decision): object {
  const [now, user] = [annotation('object', token), annotation('object', by)];
  const isKept = `(${now} == ${annotation('oldObject', token)} && ${user} == ${annotation('oldObject', by)})`;
  return {
    expression: `${now} == "" || ${isKept} || ${user} == request.userInfo.username`,
    messageExpression:
      `"the user who sets ${token} is named with it: set ${by}=" + request.userInfo.username + ` +
      `" in the same request${page('decision-by')}"`,
    reason: 'Forbidden',
  };
}

/** Part of every installation with a lifecycle controller, with a webhook or without. */
export function decisionPolicies(): readonly object[] {
  const metadata = { name: 'ingester-decisions', labels };
  return [
    {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        matchConstraints: { resourceRules: [ingesterUpdates], matchPolicy: 'Equivalent' },
        matchConditions: [notDeleting],
        validations: decisions.map(namesItsUser),
        failurePolicy: 'Fail',
      },
    },
    {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: metadata.name, validationActions: ['Deny'] },
    },
  ];
}

/** As webhooks/policies/decision-by.ts, where there is no webhook. */
export function decisionByPolicy(): object {
  const fill = ({ by, token }: Decision): string =>
    `(${brings({ by, token })} ? [JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("${by}"), value: request.userInfo.username}] : [])`;
  return {
    apiVersion: API_VERSION,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'ingester-decision-by', labels },
    spec: {
      matchConstraints: { resourceRules: [ingesterUpdates], matchPolicy: 'Equivalent' },
      matchConditions: [notDeleting, bringsDecision],
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: decisions.map(fill).join(' + ') } }],
      failurePolicy: 'Ignore',
      reinvocationPolicy: 'Never',
    },
  };
}
