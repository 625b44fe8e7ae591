// Metrics under the names of client-go and controller-runtime, so that dashboards and alerts of other controllers work
// for this one. Each family exists from the start and is zero, so that a graph has a line and an alert a value before
// the first event. The registry is passed in; there is no global one.
import { Registry } from 'prom-client';
import { AdmissionMetrics, WebhookMetricFamilies } from './admission.ts';
import { ControllerMetricFamilies } from './controller.ts';
import { CoverageMetricFamilies } from './coverage.ts';
import { LagMetricFamilies } from './lag.ts';
import { LifecycleMetrics } from './lifecycle.ts';
import { EventMetrics, LeaderElectionMetrics, WatchdogMetrics } from './manager.ts';
import { RestClientMetrics } from './rest-client.ts';
import { QueryMetricFamilies, ServerMetrics } from './servers.ts';
import { StorageMetrics } from './storage.ts';
import { SyncMetrics } from './sync.ts';
import { TracingMetrics } from './tracing.ts';

export interface Metrics {
  readonly registry: Registry;
  readonly controllers: ControllerMetricFamilies;
  readonly coverage: CoverageMetricFamilies;
  readonly events: EventMetrics;
  readonly lag: LagMetricFamilies;
  readonly leaderElection: LeaderElectionMetrics;
  readonly lifecycle: LifecycleMetrics;
  readonly restClient: RestClientMetrics;
  readonly server: ServerMetrics;
  readonly storage: StorageMetrics;
  readonly sync: SyncMetrics;
  readonly tracing: TracingMetrics;
  readonly watchdog: WatchdogMetrics;
  readonly webhooks: WebhookMetricFamilies;
}

export function createMetrics(registry: Registry = new Registry()): Metrics {
  return {
    registry,
    controllers: new ControllerMetricFamilies(registry),
    coverage: new CoverageMetricFamilies(registry),
    events: new EventMetrics(registry),
    lag: new LagMetricFamilies(registry),
    leaderElection: new LeaderElectionMetrics(registry),
    lifecycle: new LifecycleMetrics(registry),
    restClient: new RestClientMetrics(registry),
    server: new ServerMetrics(registry),
    storage: new StorageMetrics(registry),
    sync: new SyncMetrics(registry),
    tracing: new TracingMetrics(registry),
    watchdog: new WatchdogMetrics(registry),
    webhooks: new WebhookMetricFamilies(registry),
  };
}

/** What the webhook role measures: it has no controllers. */
export interface WebhookMetrics {
  readonly registry: Registry;
  readonly webhooks: WebhookMetricFamilies;
  readonly admission: AdmissionMetrics;
  readonly restClient: RestClientMetrics;
  readonly server: ServerMetrics;
  readonly tracing: TracingMetrics;
  readonly watchdog: WatchdogMetrics;
}

export function createWebhookMetrics(registry: Registry = new Registry()): WebhookMetrics {
  return {
    registry,
    webhooks: new WebhookMetricFamilies(registry),
    admission: new AdmissionMetrics(registry),
    restClient: new RestClientMetrics(registry),
    server: new ServerMetrics(registry),
    tracing: new TracingMetrics(registry),
    watchdog: new WatchdogMetrics(registry),
  };
}

/** What the query role measures. */
export interface QueryMetrics {
  readonly registry: Registry;
  readonly query: QueryMetricFamilies;
  readonly restClient: RestClientMetrics;
  readonly server: ServerMetrics;
}

export function createQueryMetrics(registry: Registry = new Registry()): QueryMetrics {
  return {
    registry,
    query: new QueryMetricFamilies(registry),
    restClient: new RestClientMetrics(registry),
    server: new ServerMetrics(registry),
  };
}
