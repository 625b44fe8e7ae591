import { Counter, Gauge, type Registry } from 'prom-client';

/** What a policy made of a request. A request that a rule does not apply to is not counted. */
export type PolicyOutcome = 'allowed' | 'changed' | 'warned' | 'denied' | 'failed';

/** Outcomes that each kind of policy can have, so that every series exists from the start. */
const mutatingOutcomes: readonly PolicyOutcome[] = ['allowed', 'changed'];
const validatingOutcomes: readonly PolicyOutcome[] = ['allowed', 'warned', 'denied', 'failed'];

/** What the admission policies decide, and how long the certificate they are served with is valid. */
export class AdmissionMetrics {
  readonly #decisions: Counter<'policy' | 'outcome'>;
  readonly #reads: Counter;
  readonly #readErrors: Counter;
  readonly #expiry: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#decisions = new Counter({
      name: 'ingester_admission_decisions_total',
      help: 'Admission requests by policy and outcome; dry runs are not counted',
      labelNames: ['policy', 'outcome'],
      registers,
    });
    this.#reads = new Counter({
      name: 'certwatcher_read_certificate_total',
      help: 'Total number of certificate reads',
      registers,
    });
    this.#readErrors = new Counter({
      name: 'certwatcher_read_certificate_errors_total',
      help: 'Total number of certificate read errors',
      registers,
    });
    this.#expiry = new Gauge({
      name: 'ingester_webhook_certificate_not_after_seconds',
      help: 'Unix time at which the certificate in use expires',
      registers,
    });
  }

  declareMutating(policies: readonly string[]): void {
    for (const policy of policies) for (const outcome of mutatingOutcomes) this.#decisions.inc({ policy, outcome }, 0);
  }

  declareValidating(policies: readonly string[]): void {
    for (const policy of policies)
      for (const outcome of validatingOutcomes) this.#decisions.inc({ policy, outcome }, 0);
  }

  decided(policy: string, outcome: PolicyOutcome): void {
    this.#decisions.inc({ policy, outcome });
  }

  certificateRead(): void {
    this.#reads.inc();
  }

  certificateUnusable(): void {
    this.#readErrors.inc();
  }

  certificateInUse(notAfter: Date): void {
    this.#expiry.set(notAfter.getTime() / 1000);
  }
}
