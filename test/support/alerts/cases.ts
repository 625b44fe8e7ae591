// When each alert fires, when it stops, and what it lets pass. Values are one a minute, in promtool's notation: `0x4 1+2x3`
// is five zeros, then 1, 3, 5, 7.
import type { Component } from './series.ts';

type Values = Readonly<Record<string, string>>;

export interface AlertCase {
  readonly component: Component;
  readonly series: Values;
  /** Minutes after the start. */
  readonly fires: string;
  readonly resolves: string;
  /** Of the alert, besides those of its rule. */
  readonly labels?: Values;
  /** As a user reads it; missing where the rule says it without a template. */
  readonly summary?: string;
  /** As near to firing as it gets. */
  readonly quiet: { readonly series: Values; readonly at: string };
}

const model = { kind: 'Model' };
const name = { name: 'ingester' };
const WEEK = 7 * 86_400;

export const alertCases: Readonly<Record<string, AlertCase>> = {
  IngesterWebhookDown: {
    component: 'webhook',
    series: { 'up{pod="a"}': '1x1 0x4 1x5', 'up{pod="b"}': '1x1 0x9' },
    fires: '5m',
    resolves: '8m',
    quiet: { series: { 'up{pod="a"}': '0x10', 'up{pod="b"}': '1x10' }, at: '10m' },
  },
  IngesterWebhookErrors: {
    component: 'webhook',
    series: { 'controller_runtime_webhook_requests_total{webhook="/mutate",code="500"}': '0 0+1x10 10x15' },
    fires: '8m',
    resolves: '18m',
    quiet: {
      series: { 'controller_runtime_webhook_requests_total{webhook="/mutate",code="200"}': '0+100x20' },
      at: '15m',
    },
  },
  IngesterWebhookSlow: {
    component: 'webhook',
    series: {
      'controller_runtime_webhook_latency_seconds_bucket{webhook="/mutate",le="1"}': '0+97x40',
      'controller_runtime_webhook_latency_seconds_bucket{webhook="/mutate",le="2.5"}': '0+100x20 2000+97x20',
      'controller_runtime_webhook_latency_seconds_bucket{webhook="/mutate",le="+Inf"}': '0+100x20 2000+97x20',
    },
    fires: '15m',
    resolves: '27m',
    quiet: {
      series: {
        'controller_runtime_webhook_latency_seconds_bucket{webhook="/mutate",le="1"}': '0+995x40',
        'controller_runtime_webhook_latency_seconds_bucket{webhook="/mutate",le="2.5"}': '0+1000x40',
        'controller_runtime_webhook_latency_seconds_bucket{webhook="/mutate",le="+Inf"}': '0+1000x40',
      },
      at: '40m',
    },
  },
  IngesterWebhookRefuses: {
    component: 'webhook',
    series: { 'ingester_admission_decisions_total{policy="born-deleting",outcome="denied"}': '0+20x25 500x25' },
    fires: '20m',
    resolves: '40m',
    labels: { policy: 'born-deleting' },
    summary: 'The rule born-deleting refuses more than twelve requests a minute.',
    quiet: {
      series: {
        'ingester_admission_decisions_total{policy="born-deleting",outcome="denied"}': '0+12x30',
        'ingester_admission_decisions_total{policy="born-deleting",outcome="allowed"}': '0+500x30',
      },
      at: '30m',
    },
  },
  IngesterCertificateExpires: {
    component: 'webhook',
    series: { ingester_webhook_certificate_not_after_seconds: `${WEEK}x90 ${5 * WEEK}x10` },
    fires: '65m',
    resolves: '95m',
    quiet: {
      series: {
        'ingester_webhook_certificate_not_after_seconds{pod="a"}': `${WEEK + 6000}x100`,
        'ingester_webhook_certificate_not_after_seconds{pod="b"}': '0x100',
      },
      at: '100m',
    },
  },
  IngesterNoLeader: {
    component: 'reconciler',
    series: { 'leader_election_master_status{name="ingester-reconciler"}': '1x1 0x8 1x5', up: '1x20' },
    fires: '8m',
    resolves: '12m',
    quiet: {
      series: {
        'leader_election_master_status{name="ingester-reconciler",pod="a"}': '0x10',
        'leader_election_master_status{name="ingester-reconciler",pod="b"}': '1x10',
      },
      at: '10m',
    },
  },
  IngesterBucketsUnowned: {
    component: 'reconciler',
    series: { 'ingester_unowned_buckets{pod="a"}': '0x1 3x6 0x5', 'ingester_unowned_buckets{pod="b"}': '0x1 3x6 0x5' },
    ...{ fires: '5m', resolves: '9m', summary: 'No replica works on 3 of the 32 buckets of objects.' },
    quiet: { series: { 'ingester_unowned_buckets{pod="a"}': '0 11 0x8' }, at: '2m' },
  },
  IngesterLagging: {
    component: 'reconciler',
    series: { 'ingester_oldest_unstored_change_seconds{kind="Model"}': '0x1 60+60x8 0x5' },
    fires: '8m',
    resolves: '12m',
    labels: model,
    summary: 'A change of Model has waited for 7m 0s to be stored.',
    quiet: { series: { 'ingester_oldest_unstored_change_seconds{kind="Model"}': '60x20' }, at: '20m' },
  },
  IngesterStorageDown: {
    component: 'reconciler',
    series: { ingester_storage_available: '1x1 0x4 1x5' },
    fires: '5m',
    resolves: '8m',
    quiet: { series: { ingester_storage_available: '1x1 0x1 1x10' }, at: '3m' },
  },
  IngesterStuckWorker: {
    component: 'reconciler',
    series: {
      'workqueue_longest_running_processor_seconds{name="ingester_Model",controller="ingester_Model"}':
        '0x1 60+60x12 0x5',
    },
    fires: '12m',
    resolves: '16m',
    labels: { controller: 'ingester_Model' },
    summary: 'ingester_Model has worked on one object for more than five minutes.',
    quiet: {
      series: {
        'workqueue_longest_running_processor_seconds{name="ingester_Model",controller="ingester_Model"}': '300x20',
      },
      at: '20m',
    },
  },
  IngesterWorkStalled: {
    component: 'reconciler',
    series: { 'ingester_work_stalled_total{work="write"}': '0x4 1x30' },
    fires: '6m',
    resolves: '21m',
    labels: { work: 'write' },
    summary: 'write made no progress for its time and was broken off.',
    quiet: { series: { 'ingester_work_stalled_total{work="write"}': '1x30' }, at: '10m' },
  },
  IngesterFailingObjects: {
    component: 'reconciler',
    series: { ingester_failing_objects: '0x1 3x20 0x5' },
    fires: '18m',
    resolves: '24m',
    summary: '3 objects cannot be stored.',
    quiet: { series: { ingester_failing_objects: '0x1 3x10 0x10' }, at: '12m' },
  },
  IngesterDeletionsHeld: {
    component: 'reconciler',
    series: { 'ingester_deletion_breaker_open{kind="Model"}': '0x1 1x5 0x5' },
    fires: '2m',
    resolves: '9m',
    labels: model,
    summary: 'Deletions of Model were too many at once and wait for an operator.',
    quiet: { series: { 'ingester_deletion_breaker_open{kind="Model"}': '0x10' }, at: '10m' },
  },
  IngesterDeletionsWithoutStorage: {
    component: 'reconciler',
    series: { 'ingester_deletions_without_storage{kind="Model"}': '0x1 2x5 0x5' },
    fires: '5m',
    resolves: '9m',
    labels: model,
    summary: '2 objects of Model stay Terminating, because no reconciler ingests them.',
    quiet: { series: { 'ingester_deletions_without_storage{kind="Model"}': '0x1 2x1 0x5' }, at: '3m' },
  },
  IngesterStorageWentBack: {
    component: 'reconciler',
    series: { ingester_storage_went_back_total: '0x1 1x400' },
    fires: '3m',
    resolves: '365m',
    quiet: { series: { ingester_storage_went_back_total: '1x20' }, at: '10m' },
  },
  IngesterStorageNotDurable: {
    component: 'reconciler',
    series: { ingester_storage_weak_settings: '0x1 2x20 0x5' },
    fires: '18m',
    resolves: '24m',
    quiet: { series: { ingester_storage_weak_settings: '0x1 1x5 0x20' }, at: '18m' },
  },
  IngesterSpooledObjects: {
    component: 'reconciler',
    series: { ingester_spooled_objects: '0x1 4x35 0x5', ingester_spool_aside_objects: '0x50' },
    fires: '35m',
    resolves: '40m',
    summary: '4 final states are on a disk only, because MySQL was away.',
    quiet: { series: { ingester_spooled_objects: '0x1 4x20 0x20', ingester_spool_aside_objects: '0x50' }, at: '22m' },
  },
  IngesterLagBudgetBurnsFast: {
    component: 'reconciler',
    series: {
      'ingester_change_lag_seconds_bucket{kind="Model",le="1"}': '0+10x60 608+8x59 1090+10x20',
      'ingester_change_lag_seconds_count{kind="Model"}': '0+10x150',
    },
    fires: '120m',
    resolves: '127m',
    summary: '20% of changes took longer than a second to be stored within the last hour.',
    quiet: {
      series: {
        'ingester_change_lag_seconds_bucket{kind="Model",le="1"}': '0+87x90',
        'ingester_change_lag_seconds_count{kind="Model"}': '0+100x90',
      },
      at: '90m',
    },
  },
  IngesterLagBudgetBurnsSlowly: {
    component: 'reconciler',
    series: {
      'ingester_change_lag_seconds_bucket{kind="Model",le="1"}': '0+9x400 3610+10x50',
      'ingester_change_lag_seconds_count{kind="Model"}': '0+10x500',
    },
    fires: '370m',
    resolves: '435m',
    summary: '10% of changes took longer than a second to be stored within six hours.',
    quiet: {
      series: {
        'ingester_change_lag_seconds_bucket{kind="Model",le="1"}': '0+95x400',
        'ingester_change_lag_seconds_count{kind="Model"}': '0+100x400',
      },
      at: '370m',
    },
  },
  IngesterUnguardedObjects: {
    component: 'reconciler',
    series: { 'ingester_unguarded_objects{kind="Model"}': '0x1 2x20 0x5' },
    fires: '18m',
    resolves: '24m',
    labels: model,
    summary: '2 objects of Model have no finalizer, so their deletes could be missed.',
    quiet: { series: { 'ingester_unguarded_objects{kind="Model"}': '0x1 2x10 0x10' }, at: '12m' },
  },
  IngesterMissedDeletes: {
    component: 'reconciler',
    series: { 'ingester_missed_deletes_total{kind="Model"}': '0x1 1x80' },
    fires: '3m',
    resolves: '65m',
    labels: model,
    summary: 'Objects of Model left the cluster before their final state was stored.',
    quiet: { series: { 'ingester_missed_deletes_total{kind="Model"}': '1x80' }, at: '30m' },
  },
  IngesterAuditFindings: {
    component: 'reconciler',
    series: { 'ingester_audit_findings{kind="Model",finding="missing"}': '0x1 3x130 0x5' },
    fires: '125m',
    resolves: '134m',
    labels: { ...model, finding: 'missing' },
    summary: 'The audit found 3 objects of Model: missing.',
    quiet: { series: { 'ingester_audit_findings{kind="Model",finding="missing"}': '0x1 3x110 0x20' }, at: '115m' },
  },
  IngesterAuditStale: {
    component: 'reconciler',
    series: { 'ingester_audit_timestamp_seconds{kind="Model"}': '60x200 12060x10' },
    fires: '198m',
    resolves: '203m',
    labels: model,
    summary: 'Model was last compared with MySQL more than three hours ago.',
    quiet: {
      series: {
        'ingester_audit_timestamp_seconds{kind="Model"}': '60x200',
        'ingester_audit_timestamp_seconds{kind="Project"}': '0x200',
      },
      at: '194m',
    },
  },
  IngesterRecreatedAfterEviction: {
    component: 'reconciler',
    series: { 'ingester_events_total{kind="Model",reason="RecreatedAfterEviction"}': '0x1 1x80' },
    fires: '3m',
    resolves: '65m',
    labels: model,
    summary: 'Archived objects of Model are created again.',
    quiet: { series: { 'ingester_events_total{kind="Model",reason="Evicted"}': '0+1x30' }, at: '30m' },
  },
  IngesterEventsDropped: {
    component: 'reconciler',
    series: { ingester_events_dropped_total: '0x1 5x80' },
    fires: '3m',
    resolves: '65m',
    quiet: { series: { ingester_events_dropped_total: '5x80' }, at: '30m' },
  },
  IngesterQueryDown: {
    component: 'query',
    series: {
      'aggregator_unavailable_apiservice{name="v2.stored.michelangelo.api"}': '0x1 1x5 0x5',
      up: '1x15',
    },
    fires: '5m',
    resolves: '9m',
    quiet: {
      series: {
        'aggregator_unavailable_apiservice{name="v1beta1.metrics.k8s.io"}': '1x10',
        'up{pod="a"}': '0x10',
        'up{pod="b"}': '1x10',
      },
      at: '10m',
    },
  },
  IngesterQueryFails: {
    component: 'query',
    series: {
      'ingester_query_requests_total{method="GET",code="503",cluster="in-cluster"}': '0+10x20 200x20',
      'ingester_query_requests_total{method="GET",code="200",cluster="in-cluster"}': '0+90x40',
    },
    fires: '15m',
    resolves: '27m',
    summary: '10% of the requests to the query API fail.',
    quiet: {
      series: {
        'ingester_query_requests_total{method="GET",code="503",cluster="in-cluster"}': '0+4x40',
        'ingester_query_requests_total{method="GET",code="200",cluster="in-cluster"}': '0+96x40',
      },
      at: '20m',
    },
  },
  IngesterQueryCertificateExpires: {
    component: 'query',
    series: { ingester_query_certificate_not_after_seconds: `${WEEK}x90 ${5 * WEEK}x10` },
    fires: '65m',
    resolves: '95m',
    quiet: {
      series: {
        'ingester_query_certificate_not_after_seconds{pod="a"}': `${WEEK + 6000}x100`,
        'ingester_query_certificate_not_after_seconds{pod="b"}': '0x100',
      },
      at: '100m',
    },
  },
  IngesterQueryWithoutStorage: {
    component: 'query',
    series: { ingester_query_storage_available: '1x1 0x8 1x5' },
    fires: '8m',
    resolves: '12m',
    quiet: {
      series: {
        'ingester_query_storage_available{pod="a"}': '0x10',
        'ingester_query_storage_available{pod="b"}': '1x10',
      },
      at: '10m',
    },
  },
  IngesterLifecycleFailed: {
    component: 'lifecycle',
    series: { 'ingester_lifecycle_phase{name="ingester",phase="Failed"}': '0x1 1x8 0x5' },
    fires: '8m',
    resolves: '12m',
    labels: name,
    summary: 'A change of the Ingester resource ingester failed and is not tried again by itself.',
    quiet: {
      series: {
        'ingester_lifecycle_phase{name="ingester",phase="Failed"}': '0x10',
        'ingester_lifecycle_phase{name="ingester",phase="Running"}': '1x10',
      },
      at: '10m',
    },
  },
  IngesterUnavailable: {
    component: 'lifecycle',
    series: { 'ingester_lifecycle_unavailable_timestamp_seconds{name="ingester"}': '0 60x25 0x5' },
    fires: '17m',
    resolves: '27m',
    labels: name,
    summary: 'Users of the Ingester resource ingester have not been served for a quarter of an hour.',
    quiet: {
      series: { 'ingester_lifecycle_unavailable_timestamp_seconds{name="ingester"}': '0 60x25' },
      at: '16m',
    },
  },
  IngesterLifecycleSlow: {
    component: 'lifecycle',
    series: { 'ingester_lifecycle_change_started_timestamp_seconds{name="ingester"}': '0 60x70 0x5' },
    fires: '62m',
    resolves: '72m',
    labels: name,
    summary: 'A change of the Ingester resource ingester has been under way for more than an hour.',
    quiet: {
      series: { 'ingester_lifecycle_change_started_timestamp_seconds{name="ingester"}': '0 60x70' },
      at: '61m',
    },
  },
  IngesterLifecycleWaits: {
    component: 'lifecycle',
    series: { 'ingester_lifecycle_phase{name="ingester",phase="Blocked"}': '0x1 1x70 0x5' },
    fires: '65m',
    resolves: '74m',
    labels: { ...name, phase: 'Blocked' },
    summary: 'The Ingester resource ingester is Blocked; an operator has to decide.',
    quiet: { series: { 'ingester_lifecycle_phase{name="ingester",phase="Blocked"}': '0x1 1x50 0x20' }, at: '55m' },
  },
  IngesterSnapshotMissed: {
    component: 'lifecycle',
    series: { 'ingester_lifecycle_snapshot_missed_timestamp_seconds{name="ingester"}': '0 60x70 0x5' },
    fires: '62m',
    resolves: '72m',
    labels: name,
    summary: 'The Ingester resource ingester has not taken the snapshot that was due an hour ago.',
    quiet: {
      series: { 'ingester_lifecycle_snapshot_missed_timestamp_seconds{name="ingester"}': '0 60x70' },
      at: '61m',
    },
  },
};
