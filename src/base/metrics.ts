// Metrics under the names of client-go and controller-runtime, so that the dashboards and alerts people have for other
// controllers work for this one. Each family exists from the start and is zero, so that a graph has a line and an alert
// a value before the first event. The registry is passed in; there is no global one.
import { Registry } from 'prom-client';
import { ControllerMetricFamilies } from './metrics-controller.ts';
import { LeaderElectionMetrics } from './metrics-leader-election.ts';
import { RestClientMetrics } from './metrics-rest-client.ts';
import { WebhookMetricFamilies } from './metrics-webhook.ts';

export interface Metrics {
  readonly registry: Registry;
  readonly controllers: ControllerMetricFamilies;
  readonly leaderElection: LeaderElectionMetrics;
  readonly restClient: RestClientMetrics;
  readonly webhooks: WebhookMetricFamilies;
}

export function createMetrics(registry: Registry = new Registry()): Metrics {
  return {
    registry,
    controllers: new ControllerMetricFamilies(registry),
    leaderElection: new LeaderElectionMetrics(registry),
    restClient: new RestClientMetrics(registry),
    webhooks: new WebhookMetricFamilies(registry),
  };
}
