// docs/metrics.md, from the metrics that the roles register.
import type { Registry } from 'prom-client';
import { createMetrics, createQueryMetrics, createWebhookMetrics } from '../../src/metrics/metrics.ts';
import { observeProcess } from '../../src/metrics/process.ts';
import type { Output } from './output.ts';

export interface MetricDescription {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
  /** Of the buckets of a histogram. */
  readonly bounds: readonly number[];
}

/** What prom-client keeps of a metric; its own types leave the labels out. */
interface Registered {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly upperBounds?: readonly number[];
}

export type Role = 'reconciler' | 'webhook' | 'query';

export function metricsByRole(): Readonly<Record<Role, readonly MetricDescription[]>> {
  const reconciler = createMetrics();
  // The families of work queues exist once there is a controller.
  reconciler.controllers.forController('any');
  const of = ({ registry }: { readonly registry: Registry }): readonly MetricDescription[] => {
    observeProcess(registry);
    return described(registry);
  };
  return { reconciler: of(reconciler), webhook: of(createWebhookMetrics()), query: of(createQueryMetrics()) };
}

/** Of all roles, each name once. */
function metricDescriptions(): readonly MetricDescription[] {
  const all = Object.values(metricsByRole()).flat();
  return [...new Map(all.map((metric) => [metric.name, metric])).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function described(registry: Registry): readonly MetricDescription[] {
  return (registry.getMetricsAsArray() as unknown as readonly Registered[]).map((metric) => ({
    name: metric.name,
    type: metric.type,
    labels: metric.labelNames,
    help: metric.help,
    bounds: metric.upperBounds ?? [],
  }));
}

export function metricsOutput(): Output {
  const rows = metricDescriptions().map(({ name, type, labels, help }) => {
    const names = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${names === '' ? '–' : names} | ${help} |`;
  });
  return {
    path: 'docs/metrics.md',
    content: `<!-- Generated from src/metrics/metrics.ts by "npm run generate". Do not edit. -->

# Metrics

Served as \`/metrics\` on the health port (8081) of every role. Durations are in seconds. \`workqueue_*\`,
\`controller_runtime_*\`, \`rest_client_*\`, \`leader_election_*\` and \`certwatcher_*\` mean what they mean for controllers
written with controller-runtime, \`process_*\` and \`nodejs_*\` what they mean for every program on Node. The component
\`config/components/prometheus\` scrapes them, alerts ([runbooks](runbooks.md)) and has a Grafana dashboard: [the steps](install.md#alerts-and-dashboards).

With the component \`config/components/metrics-auth\`, which the component \`production\` has, they are on port 8443 instead,
over HTTPS and only for users whom the API server allows to \`get\` the path \`/metrics\`: a client without a valid bearer
token gets 401, one without the right 403. The ClusterRole \`ingester-metrics-reader\` gives the right; \`metrics.certDir\`
names a certificate other than the one that each process makes for itself. What the lifecycle controller makes for an
\`Ingester\` has them on the health port.

MySQL is complete where \`ingester_unstored_changes\` is 0; \`ingester_oldest_unstored_change_seconds\` says how long it has
not been, and \`ingester_change_lag_seconds\` how long each change took. The objective is that of changes of at most 100 a
second 99 % are in MySQL within a second.

| Metric | Type | Labels | Meaning |
| --- | --- | --- | --- |
${rows.join('\n')}
`,
  };
}
