// The contract of a validating rule, the pure run of all of them over one request, and the answer to it. At the end: which
// requests pass no rule.
import { GROUP } from '../src/api/names.ts';
import { isJsonObject, type JsonObject, sameJson } from '../src/base/json.ts';
import type { AdmissionMetrics, PolicyOutcome } from '../src/metrics/admission.ts';
import { isDeleting } from './policies/guarded.ts';
import { type AdmissionRequest, API_VERSION, oneLine, warningsOf } from './review.ts';

/** One rule. Pure over the request and what its ports know. */
export interface ValidatingPolicy {
  /** Stable, kebab-case: metric label, audit annotation and heading in docs/admission.md. */
  readonly name: string;
  /** Not asked by `POST /mutate`: what a create sends says nothing yet, only what the API server is about to store. */
  readonly storedOnly?: true;
  appliesTo(request: AdmissionRequest): boolean;
  /** Rejects only where the rule itself is broken; the API server then applies the failurePolicy. */
  review(request: AdmissionRequest, context: PolicyContext): Verdict | Promise<Verdict>;
}

/** What every rule may know besides the request. */
export interface PolicyContext {
  /** Full user name of the reconciler's service account, whose own writes no rule may refuse. */
  readonly reconcilerUser: string;
  /** Aborts before the API server stops waiting: whatever a rule still asks for by then counts as unanswered. */
  readonly signal: AbortSignal;
  /**
   * Who reads the answer. For any client, a message holds nothing but what was sent: no uid, version or definition that
   * the webhook knows from elsewhere.
   */
  readonly audience: 'api-server' | 'any-client';
}

/** A message is one line: what is refused and what to do, under 200 characters for each problem. It becomes a 403. */
export type Verdict =
  | {
      readonly allowed: true;
      readonly warnings?: readonly string[];
      readonly auditAnnotations?: Readonly<Record<string, string>>;
    }
  | { readonly allowed: false; readonly message: string };

/** The answer of all rules together. */
export type Decision =
  | {
      readonly allowed: true;
      readonly warnings: readonly string[];
      readonly auditAnnotations: Readonly<Record<string, string>>;
    }
  | {
      readonly allowed: false;
      /** The rule that refused. */
      readonly policy: string;
      readonly message: string;
      /** Of the rules before it. */
      readonly warnings: readonly string[];
    };

/** In order: the first denial ends it, warnings add up. Requests that must not be refused pass no rule. */
export async function runPolicies(
  policies: readonly ValidatingPolicy[],
  request: AdmissionRequest,
  context: PolicyContext,
): Promise<Decision> {
  const skipped = standAside(request, context.reconcilerUser);
  if (skipped !== undefined) return { allowed: true, warnings: [], auditAnnotations: { skipped } };
  const warnings: string[] = [];
  const auditAnnotations: Record<string, string> = {};
  for (const policy of policies) {
    if (!policy.appliesTo(request)) continue;
    const verdict = await policy.review(request, context);
    if (!verdict.allowed) return { allowed: false, policy: policy.name, message: verdict.message, warnings };
    warnings.push(...(verdict.warnings ?? []));
    Object.assign(auditAnnotations, verdict.auditAnnotations);
  }
  return { allowed: true, warnings, auditAnnotations };
}

/** A refusal is one line in kubectl, Argo CD and Flux. Most have 200 characters; some name several problems at once. */
const MAX_MESSAGE = 2000;

/** The answer to a validating review: a denial is a 403 with the reason Forbidden and one line. */
export function encodeDecision(uid: string, decision: Decision): JsonObject {
  const answer = decision.allowed
    ? { auditAnnotations: { ...decision.auditAnnotations } }
    : {
        auditAnnotations: { rule: decision.policy },
        status: { code: 403, reason: 'Forbidden', message: withPage(decision) },
      };
  return {
    apiVersion: API_VERSION,
    kind: 'AdmissionReview',
    response: { uid, allowed: decision.allowed, ...warningsOf(decision), ...answer },
  };
}

/** Each rule has a heading of its name. */
function withPage({ policy, message }: { readonly policy: string; readonly message: string }): string {
  const page = ` (docs/admission.md#${policy})`;
  return `${oneLine(message, MAX_MESSAGE - page.length)}${page}`;
}

/** The same rule, counting what it decides. */
export function observed(policy: ValidatingPolicy, metrics: AdmissionMetrics): ValidatingPolicy {
  const count = (request: AdmissionRequest, outcome: PolicyOutcome): void => {
    if (!request.dryRun) metrics.decided(policy.name, outcome);
  };
  return {
    ...policy,
    appliesTo: (request) => policy.appliesTo(request),
    review: async (request, context) => {
      try {
        const verdict = await policy.review(request, context);
        count(request, outcomeOf(verdict));
        return verdict;
      } catch (error) {
        count(request, 'failed');
        throw error;
      }
    },
  };
}

function outcomeOf(verdict: Verdict): PolicyOutcome {
  if (!verdict.allowed) return 'denied';
  return (verdict.warnings ?? []).length > 0 ? 'warned' : 'allowed';
}

// Requests that no rule may refuse, because refusing them would wedge an object or lose its last state:
//
//   reconciler   what the reconciler itself does to objects of our group
//   deleting     anything that happens to an object that is being deleted already
//   unchanged    updates of nothing but finalizers, status and what the API server itself keeps

export type StandAside = 'reconciler' | 'deleting' | 'unchanged';

/** Not written by users: the API server keeps these, and finalizers belong to controllers. */
const KEPT_METADATA = ['finalizers', 'managedFields', 'resourceVersion', 'generation'];

export function standAside(request: AdmissionRequest, reconcilerUser: string): StandAside | undefined {
  const { group, username, operation, oldObject, object } = request;
  if (group === GROUP && username === reconcilerUser) return 'reconciler';
  // Only the old object can be trusted: it is what the API server has, not what the client sent.
  if (operation === 'CREATE' || oldObject === undefined) return undefined;
  if (isDeleting(oldObject)) return 'deleting';
  if (operation !== 'UPDATE' || request.subresource !== '' || object === undefined) return undefined;
  return sameJson(written(oldObject), written(object)) ? 'unchanged' : undefined;
}

/** The object without status and without the fields that users do not write. */
function written(object: JsonObject): JsonObject {
  const { status: _status, metadata, ...rest } = object;
  if (!isJsonObject(metadata)) return { ...rest, metadata };
  const kept = Object.entries(metadata).filter(([key]) => !KEPT_METADATA.includes(key));
  return { ...rest, metadata: Object.fromEntries(kept) };
}
