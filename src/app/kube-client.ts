import type { Clock } from '../base/clock.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { HttpKubeClient } from '../kube/http/http-client.ts';
import { PooledTransport, type TransportObserver } from '../kube/http/transport.ts';
import { createMetrics, type Metrics } from '../metrics/metrics.ts';

type ClientMetrics = Pick<Metrics, 'restClient'>;

export function createClient({ kubernetes }: Configuration, clock: Clock, metrics: ClientMetrics): KubeClient {
  const { kubeconfig, context, qps } = kubernetes;
  // Twice the rate at once, as the original has it (k8s.qps 300, k8s.burst 600).
  const limit = { perSecond: qps, burst: 2 * qps };
  const observe = (host: string): TransportObserver => observer(host, metrics);
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

/** For a command that a user runs: its metrics are not scraped. */
export function commandClient(configuration: Configuration, clock: Clock): KubeClient {
  return createClient(configuration, clock, createMetrics());
}
