import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { HttpKubeClient } from '../kube/http/http-client.ts';
import { PooledTransport, type TransportObserver } from '../kube/http/transport.ts';

type ClientMetrics = Pick<Metrics, 'restClient'>;

export function createClient({ kubernetes }: Configuration, clock: Clock, metrics: ClientMetrics): KubeClient {
  const { kubeconfig, context, qps, burst } = kubernetes;
  const limit = { queriesPerSecond: qps, burst };
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
