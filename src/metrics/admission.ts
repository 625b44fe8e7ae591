import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

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

/** The metrics of every admission webhook of a process; `webhook` is its path. */
export class WebhookMetricFamilies {
  readonly #requests: Counter<'webhook' | 'code'>;
  readonly #seconds: Histogram<'webhook'>;
  readonly #inFlight: Gauge<'webhook'>;
  readonly #panics: Counter;

  constructor(registry: Registry) {
    const common = { labelNames: ['webhook'] as const, registers: [registry] };
    this.#requests = new Counter({
      name: 'controller_runtime_webhook_requests_total',
      help: 'Total number of admission requests by HTTP status code',
      labelNames: ['webhook', 'code'],
      registers: [registry],
    });
    this.#seconds = new Histogram({
      ...common,
      name: 'controller_runtime_webhook_latency_seconds',
      help: 'Histogram of the latency of processing admission requests',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    });
    this.#inFlight = new Gauge({
      ...common,
      name: 'controller_runtime_webhook_requests_in_flight',
      help: 'Current number of admission requests being served',
    });
    this.#panics = new Counter({
      name: 'controller_runtime_webhook_panics_total',
      help: 'Total number of webhook panics',
      registers: [registry],
    });
  }

  forWebhook(webhook: string): {
    /** A request has come; the returned function is called with its HTTP status when it is answered. */
    readonly received: () => (status: number) => void;
    readonly panicked: () => void;
  } {
    for (const code of ['200', '500']) this.#requests.inc({ webhook, code }, 0);
    this.#inFlight.set({ webhook }, 0);
    this.#seconds.zero({ webhook });
    return {
      received: () => {
        this.#inFlight.inc({ webhook });
        const stopTimer = this.#seconds.startTimer({ webhook });
        return (status) => {
          stopTimer();
          this.#inFlight.dec({ webhook });
          this.#requests.inc({ webhook, code: String(status) });
        };
      },
      panicked: () => this.#panics.inc(),
    };
  }
}
