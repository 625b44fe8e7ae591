// The Grafana dashboard: a table of panels. Positions and everything else that Grafana wants follow from it.
import type { Output } from './output.ts';

interface Panel {
  readonly title: string;
  readonly description: string;
  /** Units as Grafana names them. */
  readonly unit: 'short' | 'percentunit' | 's' | 'ops' | 'reqps' | 'dateTimeFromNow';
  readonly stat?: true;
  readonly queries: readonly { readonly expr: string; readonly legend: string }[];
}

const reconciler = 'job=~".*ingester-reconciler-metrics"';
const query = 'job=~".*ingester-query-metrics"';
const webhook = 'job=~".*ingester-webhook-metrics"';

function quantiles(metric: string, selector: string, by: string): Panel['queries'] {
  return [0.5, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (le${by === '' ? '' : `, ${by}`}) (rate(${metric}_bucket{${selector}}[$__rate_interval])))`,
    legend: `p${quantile * 100}${by === '' ? '' : ` {{${by}}}`}`,
  }));
}

/** Of work that is too rare for a rate over a few minutes. */
function meanOfADay(work: string, by: string): string {
  const group = by === '' ? '' : ` by (${by})`;
  const of = (part: string): string =>
    `sum${group} (increase(ingester_lifecycle_${work}_duration_seconds_${part}[1d]))`;
  return `${of('sum')} / (${of('count')} > 0)`;
}

function one(expr: string, legend: string): Panel['queries'] {
  return [{ expr, legend }];
}

const rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[] = [
  {
    title: 'Must be zero',
    panels: [
      {
        title: 'Unguarded objects',
        description: 'Live objects without the finalizer.',
        unit: 'short',
        stat: true,
        queries: one('sum(max by (kind) (ingester_unguarded_objects)) or vector(0)', 'objects'),
      },
      {
        title: 'Failing objects',
        description: 'Objects whose last attempt failed; "ingester status" lists them.',
        unit: 'short',
        stat: true,
        queries: one('max(ingester_failing_objects)', 'objects'),
      },
      {
        title: 'Held deletions',
        description: 'Kinds whose deletions wait for an operator: "ingester resume".',
        unit: 'short',
        stat: true,
        queries: one('sum(max by (kind) (ingester_deletion_breaker_open))', 'kinds'),
      },
      {
        title: 'Audit findings',
        description: 'Objects of which MySQL and the cluster say different things.',
        unit: 'short',
        stat: true,
        queries: one('sum(max by (kind, finding) (ingester_audit_findings))', 'findings'),
      },
    ],
  },
  {
    title: 'Lag and throughput',
    panels: [
      {
        title: 'Lag',
        description: 'From the event of a change to its commit in MySQL.',
        unit: 's',
        queries: quantiles('ingester_change_lag_seconds', reconciler, ''),
      },
      {
        title: 'Oldest change that is not stored',
        description: 'Zero while MySQL is complete.',
        unit: 's',
        queries: one('max by (kind) (ingester_oldest_unstored_change_seconds) > 0', '{{kind}}'),
      },
      {
        title: 'Waiting objects',
        description: 'Depth of the work queues.',
        unit: 'short',
        queries: one(`sum by (controller) (workqueue_depth{${reconciler}})`, '{{controller}}'),
      },
      {
        title: 'Throughput',
        description: 'Reconciles a second by result.',
        unit: 'ops',
        queries: one(
          `sum by (result) (rate(controller_runtime_reconcile_total{${reconciler}}[$__rate_interval]))`,
          '{{result}}',
        ),
      },
    ],
  },
  {
    title: 'MySQL and query API',
    panels: [
      {
        title: 'Changes within a second',
        description: 'The objective is 99 %.',
        unit: 'percentunit',
        queries: one(
          'sum(rate(ingester_change_lag_seconds_bucket{le=~"1|1.0"}[$__rate_interval])) / sum(rate(ingester_change_lag_seconds_count[$__rate_interval]))',
          'stored within 1 s',
        ),
      },
      {
        title: 'Commits',
        description: 'Time of a transaction that writes objects.',
        unit: 's',
        queries: quantiles('ingester_commit_duration_seconds', reconciler, ''),
      },
      {
        title: 'Connections to MySQL',
        description: 'In use or waited for, and the most that there may be.',
        unit: 'short',
        queries: [
          ...one('sum(ingester_storage_connections_used)', 'used'),
          ...one('max(ingester_storage_connections_max)', 'most of one replica'),
        ],
      },
      {
        title: 'Time of a reconcile',
        description: 'With the wait for MySQL.',
        unit: 's',
        queries: quantiles('controller_runtime_reconcile_time_seconds', reconciler, ''),
      },
      {
        title: 'Requests to the query API',
        description: 'By HTTP status.',
        unit: 'reqps',
        queries: one('sum by (code) (rate(ingester_query_requests_total[$__rate_interval]))', '{{code}}'),
      },
      {
        title: 'Time of an answer of the query API',
        description: 'Until its reader has it.',
        unit: 's',
        queries: quantiles('ingester_query_request_duration_seconds', query, ''),
      },
    ],
  },
  {
    title: 'Admission',
    panels: [
      {
        title: 'Latency',
        description: 'Time in the webhook. The API server gives up after five seconds.',
        unit: 's',
        queries: quantiles('controller_runtime_webhook_latency_seconds', webhook, 'webhook'),
      },
      {
        title: 'Requests',
        description: 'By HTTP status; 5xx are failures, refusals are 200.',
        unit: 'reqps',
        queries: one(
          `sum by (code) (rate(controller_runtime_webhook_requests_total{${webhook}}[$__rate_interval]))`,
          '{{code}}',
        ),
      },
      {
        title: 'Decisions',
        description: 'By rule and outcome.',
        unit: 'reqps',
        queries: one(
          'sum by (policy, outcome) (rate(ingester_admission_decisions_total[$__rate_interval]))',
          '{{policy}} {{outcome}}',
        ),
      },
      {
        title: 'Certificate',
        description: 'When the certificate in use expires.',
        unit: 'dateTimeFromNow',
        stat: true,
        queries: one('min(ingester_webhook_certificate_not_after_seconds > 0) * 1000', 'expires'),
      },
    ],
  },
  {
    title: 'Life of objects',
    panels: [
      {
        title: 'Events',
        description: 'Evicted, retained, recreated, finalizer removed: see docs/operations.md.',
        unit: 'ops',
        queries: one('sum by (reason) (rate(ingester_events_total[$__rate_interval]))', '{{reason}}'),
      },
      {
        title: 'Swept, and missed deletes',
        description: 'Given the finalizer after their creation; gone before their final state was stored.',
        unit: 'ops',
        queries: [
          ...one('sum by (kind) (rate(ingester_finalizer_sweep_objects_total[$__rate_interval]))', 'swept {{kind}}'),
          ...one('sum by (kind) (rate(ingester_missed_deletes_total[$__rate_interval]))', 'missed deletes {{kind}}'),
        ],
      },
      {
        title: 'Last audit',
        description: 'When each kind was last compared with MySQL.',
        unit: 'dateTimeFromNow',
        stat: true,
        queries: one('max by (kind) (ingester_audit_timestamp_seconds > 0) * 1000', '{{kind}}'),
      },
      {
        title: 'Leader',
        description: 'Exactly one pod must say 1.',
        unit: 'short',
        queries: one(`leader_election_master_status{${reconciler}}`, '{{pod}}'),
      },
    ],
  },
  {
    title: 'Lifecycle of Ingester resources',
    panels: [
      {
        title: 'Phase',
        description: 'Of each Ingester resource; nothing where there is none.',
        unit: 'short',
        queries: one('max by (name, phase) (ingester_lifecycle_phase) > 0', '{{name}} {{phase}}'),
      },
      {
        title: 'Failed attempts',
        description: 'At each task, since its inputs changed last.',
        unit: 'short',
        queries: one('max by (name, task) (ingester_lifecycle_failed_attempts) > 0', '{{name}} {{task}}'),
      },
      {
        title: 'Change under way since',
        description: 'Nothing where no change is under way.',
        unit: 'dateTimeFromNow',
        stat: true,
        queries: one('max by (name) (ingester_lifecycle_change_started_timestamp_seconds > 0) * 1000', '{{name}}'),
      },
      {
        title: 'Users not served since',
        description: 'Nothing where they are.',
        unit: 'dateTimeFromNow',
        stat: true,
        queries: one('max by (name) (ingester_lifecycle_unavailable_timestamp_seconds > 0) * 1000', '{{name}}'),
      },
      {
        title: 'Newest snapshot',
        description: 'Nothing where the lifecycle has taken none.',
        unit: 'dateTimeFromNow',
        stat: true,
        queries: one('max by (name) (ingester_lifecycle_snapshot_timestamp_seconds > 0) * 1000', '{{name}}'),
      },
      {
        title: 'Snapshot missing since',
        description: 'Nothing where none is missing.',
        unit: 'dateTimeFromNow',
        stat: true,
        queries: one('max by (name) (ingester_lifecycle_snapshot_missed_timestamp_seconds > 0) * 1000', '{{name}}'),
      },
    ],
  },
  {
    title: 'How long the lifecycle takes, mean of a day',
    panels: [
      {
        title: 'Tasks',
        description: 'Of each run.',
        unit: 's',
        queries: one(meanOfADay('task', 'task, outcome'), '{{task}} {{outcome}}'),
      },
      {
        title: 'Quiesces',
        description: 'Until no pod of a component is left.',
        unit: 's',
        queries: one(meanOfADay('quiesce', ''), 'quiesce'),
      },
      {
        title: 'Changes',
        description: 'Installations, upgrades, other changes and rollbacks as a whole.',
        unit: 's',
        queries: one(meanOfADay('change', 'kind, outcome'), '{{kind}} {{outcome}}'),
      },
    ],
  },
  {
    title: 'API server',
    panels: [
      {
        title: 'Calls',
        description: 'By status code.',
        unit: 'reqps',
        queries: one(
          `sum by (code) (rate(rest_client_requests_total{job=~".*ingester-.*-metrics"}[$__rate_interval]))`,
          '{{code}}',
        ),
      },
      {
        title: 'Latency of calls',
        description: 'As the ingester sees it.',
        unit: 's',
        queries: quantiles('rest_client_request_duration_seconds', 'job=~".*ingester-.*-metrics"', 'verb'),
      },
    ],
  },
];

const WIDTH = 24;
const HEIGHT = 8;

export function dashboardOutput(): Output {
  const panels = rows.flatMap(({ title, panels: inRow }, row) => {
    const top = row * (HEIGHT + 1);
    const width = WIDTH / inRow.length;
    return [
      { type: 'row', title, collapsed: false, gridPos: { x: 0, y: top, w: WIDTH, h: 1 }, panels: [] },
      ...inRow.map((panel, column) => drawn(panel, { x: column * width, y: top + 1, w: width, h: HEIGHT })),
    ];
  });
  const dashboard = {
    uid: 'michelangelo-ingester',
    title: 'Michelangelo Ingester',
    tags: ['michelangelo'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }],
    },
    panels: panels.map((panel, index) => ({ id: index + 1, ...panel })),
  };
  return {
    path: 'config/components/prometheus/ingester.json',
    content: `${JSON.stringify(dashboard, undefined, 2)}\n`,
  };
}

function drawn({ title, description, unit, stat, queries }: Panel, gridPos: object): object {
  const datasource = { type: 'prometheus', uid: '${datasource}' };
  return {
    type: stat === true ? 'stat' : 'timeseries',
    title,
    description,
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit }, overrides: [] },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}
