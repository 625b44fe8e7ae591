import type { AdmissionMetrics, PolicyOutcome } from '../src/base/metrics-admission.ts';
import type { ValidatingPolicy, Verdict } from './policy.ts';
import type { AdmissionRequest } from './review.ts';

/** The same rule, counting what it decides. */
export function observed(policy: ValidatingPolicy, metrics: AdmissionMetrics): ValidatingPolicy {
  const count = (request: AdmissionRequest, outcome: PolicyOutcome): void => {
    if (!request.dryRun) metrics.decided(policy.name, outcome);
  };
  return {
    name: policy.name,
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
