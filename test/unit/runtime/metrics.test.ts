import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics, createWebhookMetrics, type Metrics } from '../../../src/metrics/metrics.ts';
import { Controller } from '../../../src/runtime/controller.ts';
import type { ControllerMetrics } from '../../../src/runtime/controller-metrics.ts';
import { WorkQueue } from '../../../src/runtime/work-queue.ts';
import { StorageUnavailableError } from '../../../src/storage/errors.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { ContextLogger } from './context-logger.ts';

/** Value of each sample, by name and labels as they are exposed. */
async function samples({ registry }: Metrics): Promise<ReadonlyMap<string, string>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
}

const labels = 'name="models",controller="models"';

describe('Metrics', () => {
  it('has every name of client-go and controller-runtime from the start', async () => {
    const all = (await createMetrics().registry.getMetricsAsJSON()).map(({ name }) => name);
    const names = all.filter((name) => !name.startsWith('ingester_'));
    const rest = ['requests_total', 'request_duration_seconds', 'rate_limiter_duration_seconds'];
    const restMore = [
      'request_retries_total',
      'request_size_bytes',
      'response_size_bytes',
      'dns_resolution_duration_seconds',
    ];
    const queue = ['depth', 'adds_total', 'retries_total', 'queue_duration_seconds', 'work_duration_seconds'];
    const queueMore = ['unfinished_work_seconds', 'longest_running_processor_seconds'];
    const reconcile = ['total', 'errors_total', 'panics_total', 'timeouts_total', 'time_seconds'];
    const webhook = ['requests_total', 'latency_seconds', 'requests_in_flight', 'panics_total'];
    assert.deepEqual(
      names.sort(),
      [
        ...[...queue, ...queueMore].map((name) => `workqueue_${name}`),
        ...reconcile.map((name) => `controller_runtime_reconcile_${name}`),
        'controller_runtime_terminal_reconcile_errors_total',
        'controller_runtime_max_concurrent_reconciles',
        'controller_runtime_active_workers',
        ...webhook.map((name) => `controller_runtime_webhook_${name}`),
        ...[...rest, ...restMore].map((name) => `rest_client_${name}`),
        'leader_election_master_status',
        'leader_election_slowpath_total',
      ].sort(),
    );
  });

  it('has the certificate watcher of the webhook at zero from the start', async () => {
    const lines = (await createWebhookMetrics().registry.metrics()).split('\n');
    for (const name of ['certificate_total', 'certificate_errors_total']) {
      assert.ok(lines.includes(`certwatcher_read_${name} 0`), name);
    }
  });

  it('has every series of a controller at zero before its first event', async () => {
    const metrics = createMetrics();
    metrics.controllers.forController('models');
    const values = await samples(metrics);
    for (const name of ['adds_total', 'retries_total', 'unfinished_work_seconds', 'queue_duration_seconds_count']) {
      assert.equal(values.get(`workqueue_${name}{${labels}}`), '0', name);
    }
    assert.equal(values.get(`workqueue_depth{${labels},priority="0"}`), '0');
    for (const result of ['success', 'error', 'requeue_after']) {
      const name = `controller_runtime_reconcile_total{controller="models",result="${result}"}`;
      assert.equal(values.get(name), '0', result);
    }
    for (const name of ['reconcile_errors_total', 'terminal_reconcile_errors_total', 'reconcile_panics_total']) {
      assert.equal(values.get(`controller_runtime_${name}{controller="models"}`), '0', name);
    }
  });

  it('count what a controller and its queue did and do', async () => {
    const metrics = createMetrics();
    const clock = new FakeClock();
    const stop = new AbortController();
    let failures = 1;
    const controllerMetrics: ControllerMetrics = metrics.controllers.forController('models');
    const controller = new Controller({
      name: 'models',
      maxConcurrentReconciles: 1,
      reconcile: async () => {
        await new Promise<void>((resolve) => clock.schedule(2000, resolve));
        if (failures-- > 0) throw new StorageUnavailableError('ECONNREFUSED', undefined);
        return { kind: 'done' };
      },
      clock,
      logger: new ContextLogger(),
      metrics: controllerMetrics,
    });
    const finished = controller.run(stop.signal);
    controller.enqueue('a');
    controller.enqueue('b');
    await clock.advance(1500);
    const during = await samples(metrics);
    assert.equal(during.get('controller_runtime_active_workers{controller="models"}'), '1');
    assert.equal(during.get(`workqueue_depth{${labels},priority="0"}`), '1');
    assert.equal(during.get(`workqueue_longest_running_processor_seconds{${labels}}`), '1.5');
    await clock.advance(10_000);
    stop.abort();
    await finished;
    const after = await samples(metrics);
    assert.equal(after.get('controller_runtime_reconcile_total{controller="models",result="success"}'), '2');
    assert.equal(after.get('controller_runtime_reconcile_total{controller="models",result="error"}'), '1');
    assert.equal(after.get('controller_runtime_reconcile_errors_total{controller="models"}'), '1');
    assert.equal(after.get('controller_runtime_reconcile_time_seconds_sum{controller="models"}'), '6');
    assert.equal(after.get(`workqueue_adds_total{${labels}}`), '3');
    assert.equal(after.get(`workqueue_retries_total{${labels}}`), '1');
    assert.equal(after.get(`workqueue_work_duration_seconds_sum{${labels}}`), '6');
    assert.equal(after.get(`workqueue_unfinished_work_seconds{${labels}}`), '0');
    assert.equal(after.get('controller_runtime_active_workers{controller="models"}'), '0');
    assert.equal(after.get('controller_runtime_max_concurrent_reconciles{controller="models"}'), '1');
  });

  it('exceeding limit uses placeholder: priorities beyond the 25th share one series', async () => {
    const metrics = createMetrics();
    const queue = new WorkQueue(new FakeClock(), { metrics: metrics.controllers.forController('models').queue });
    for (let priority = 1; priority <= 30; priority += 1) queue.add(`key-${priority}`, { priority });
    const depth = async (priority: string): Promise<string | undefined> =>
      (await samples(metrics)).get(`workqueue_depth{${labels},priority="${priority}"}`);
    assert.equal(await depth('24'), '1');
    assert.equal(await depth('25'), undefined);
    assert.equal(await depth('exceeded_cardinality_limit'), '6');
    queue.shutDown();
    assert.equal(await depth('exceeded_cardinality_limit'), '0');
  });

  it('has two sets side by side, because nothing is global', () => {
    createMetrics();
    createMetrics();
  });

  it('counts requests, retries and throttling of the API client, and admission requests', async () => {
    const metrics = createMetrics();
    metrics.restClient.watch('api');
    const request = { method: 'GET', host: 'api' };
    metrics.restClient.answered(request, { status: 200, seconds: 0.1, requestBytes: 10 });
    metrics.restClient.received(request, 100);
    metrics.restClient.resolved('api', 0.5);
    metrics.restClient.answered(request, {
      status: undefined,
      seconds: 0.1,
      requestBytes: 10,
    });
    metrics.restClient.retried(request, 429);
    metrics.restClient.throttled(request, 1.5);
    const webhook = metrics.webhooks.forWebhook('/mutate');
    const answered = webhook.received();
    webhook.panicked();
    const during = await samples(metrics);
    answered(200);
    const after = await samples(metrics);
    assert.equal(after.get('rest_client_response_size_bytes_count{verb="PUT",host="api"}'), '0');
    assert.equal(after.get('rest_client_dns_resolution_duration_seconds_sum{host="api"}'), '0.5');
    assert.equal(after.get('rest_client_requests_total{code="200",method="GET",host="api"}'), '1');
    assert.equal(after.get('rest_client_requests_total{code="200",method="PATCH",host="api"}'), '0');
    assert.equal(after.get('rest_client_requests_total{code="<error>",method="GET",host="api"}'), '1');
    assert.equal(after.get('rest_client_request_retries_total{code="429",verb="GET",host="api"}'), '1');
    assert.equal(after.get('rest_client_rate_limiter_duration_seconds_sum{verb="GET",host="api"}'), '1.5');
    assert.equal(after.get('rest_client_response_size_bytes_count{verb="GET",host="api"}'), '1');
    assert.equal(during.get('controller_runtime_webhook_requests_in_flight{webhook="/mutate"}'), '1');
    assert.equal(after.get('controller_runtime_webhook_requests_in_flight{webhook="/mutate"}'), '0');
    assert.equal(after.get('controller_runtime_webhook_requests_total{webhook="/mutate",code="200"}'), '1');
    assert.equal(after.get('controller_runtime_webhook_panics_total'), '1');
  });
});
