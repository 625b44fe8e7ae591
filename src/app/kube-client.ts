import type { Clock } from '../base/clock.ts';
import { activeSpan, type Tracer } from '../base/tracing.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { HttpKubeClient } from '../kube/http/http-client.ts';
import { PooledTransport, type TransportObserver } from '../kube/http/transport.ts';
import { createMetrics, type Metrics } from '../metrics/metrics.ts';

type ClientMetrics = Pick<Metrics, 'restClient'>;

/** With a tracer, the calls that traced work makes are part of its trace. */
export function createClient(
  { kubernetes }: Configuration,
  clock: Clock,
  metrics: ClientMetrics,
  tracer?: Tracer,
): KubeClient {
  const { kubeconfig, context, qps } = kubernetes;
  // Twice the rate at once, as the original has it (k8s.qps 300, k8s.burst 600).
  const limit = { perSecond: qps, burst: 2 * qps };
  const observe = (host: string): TransportObserver => {
    const measured = observer(host, metrics);
    return tracer === undefined ? measured : traced(measured, host, clock, tracer);
  };
  return new HttpKubeClient(new PooledTransport({ kubeconfig, context, limit, clock, observe }));
}

function observer(host: string, { restClient }: ClientMetrics): TransportObserver {
  restClient.watch(host);
  return {
    answered: ({ method, status, durationMs, requestBytes }) =>
      restClient.answered({ method, host }, { status, seconds: durationMs / 1000, requestBytes }),
    throttled: (method, waitedMs) => restClient.throttled({ method, host }, waitedMs / 1000),
    retried: (method, status) => restClient.retried({ method, host }, status),
    received: (method, bytes) => restClient.received({ method, host }, bytes),
    resolved: (durationMs) => restClient.resolved(host, durationMs / 1000),
  };
}

/** Without the path, which has the names of objects: a span is found by its trace. */
function traced(observed: TransportObserver, host: string, clock: Clock, tracer: Tracer): TransportObserver {
  return {
    ...observed,
    answered: (answer) => {
      observed.answered(answer);
      const { method, status, durationMs } = answer;
      const parent = activeSpan()?.reference;
      if (parent === undefined) return;
      const span = tracer.start(method, { kind: 'client', parent, sinceMs: clock.monotonicMs() - durationMs });
      span?.set({ 'http.request.method': method, 'server.address': host });
      if (status !== undefined) span?.set({ 'http.response.status_code': status });
      span?.end(status !== undefined && status < 400 ? undefined : String(status ?? 'unanswered'));
    },
  };
}

/** For a command that a user runs: its metrics are not scraped. */
export function commandClient(configuration: Configuration, clock: Clock): KubeClient {
  return createClient(configuration, clock, createMetrics());
}
