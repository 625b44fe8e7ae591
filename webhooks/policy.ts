// The contract of a validating rule, and the pure run of all of them over one request.
import { standAside } from './policies/stand-aside.ts';
import type { AdmissionRequest } from './review.ts';

/** One rule. Pure over the request and what its ports know. */
export interface ValidatingPolicy {
  /** Stable, kebab-case: metric label, audit annotation and heading in docs/admission.md. */
  readonly name: string;
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
   * Who reads the answer. Where anybody may ask, a message holds nothing but what was sent: no uid, version or definition
   * that the webhook knows from elsewhere.
   */
  readonly audience: 'api-server' | 'anybody';
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

/** In order: the first denial ends it, warnings add up. Requests that nobody may refuse are asked of no rule. */
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
