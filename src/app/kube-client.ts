import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { HttpKubeClient } from '../kube/http/http-client.ts';
import { PooledTransport, type TransportObserver } from '../kube/http/transport.ts';

export function createClient({ kubernetes }: Configuration, clock: Clock, metrics: Metrics): KubeClient {
  const { kubeconfig, context, qps, burst } = kubernetes;
  const limit = { queriesPerSecond: qps, burst };
  const observe = (host: string): TransportObserver => observer(host, metrics);
  return new HttpKubeClient(new PooledTransport({ kubeconfig, context, limit, clock, observe }));
}

function observer(host: string, { restClient }: Metrics): TransportObserver {
  restClient.watch(host);
  return {
    answered: ({ method, status, durationMs, requestBytes }) =>
      restClient.answered(
        { method, host },
        { status, seconds: durationMs / 1000, requestBytes, responseBytes: undefined },
      ),
    throttled: (method, waitedMs) => restClient.throttled({ method, host }, waitedMs / 1000),
  };
}
