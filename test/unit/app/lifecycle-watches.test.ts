import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createWatchdog } from '../../../src/app/health.ts';
import { lifecycleChecks, watchForLifecycle } from '../../../src/app/lifecycle/lifecycle.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';
import { ScriptedClient } from '../kube/scripted-client.ts';

it('the lifecycle controller that is told nothing by the API server is not ready, and says what stalls', async () => {
  const [clock, logger, client, stop] = [
    new FakeClock(),
    new RecordingLogger(),
    new ScriptedClient(),
    new AbortController(),
  ];
  client.listScripts.push(...Array.from({ length: 12 }, () => 'wait' as const));
  const metrics = createMetrics();
  const watchdog = createWatchdog(clock, logger, metrics);
  const watching = watchForLifecycle({ client, clock, logger, namespace: 'ns', watchdog });
  const checks = lifecycleChecks(watching, watchdog);
  const running = [watchdog.run(stop.signal), ...watching.map(({ informer }) => informer.run(stop.signal))];
  await clock.advance(30_000);
  assert.equal(checks['progress']?.(), undefined);
  await clock.advance(40_000);
  assert.match(String(checks['progress']?.()), /list ingesters .*list deployments .*list services .*list jobs/);
  assert.equal(checks['watch-ingesters']?.(), 'the first list is not complete');
  assert.match(await metrics.registry.metrics(), /ingester_work_stalled_total\{work="list ingesters"\} 1/);
  stop.abort();
  await Promise.all(running);
});

it('the lifecycle controller watches one namespace, and of children only those of Ingester resources', async () => {
  const [clock, client, stop] = [new FakeClock(), new ScriptedClient(), new AbortController()];
  client.listScripts.push(...Array.from({ length: 4 }, () => 'wait' as const));
  const logger = new RecordingLogger();
  const watchdog = createWatchdog(clock, logger, createMetrics());
  const watching = watchForLifecycle({ client, clock, logger, namespace: 'ns', watchdog });
  const running = watching.map(({ informer }) => informer.run(stop.signal));
  await clock.advance(0);
  const selections = client.lists.map(({ namespace, labelSelector }) => [namespace, labelSelector]);
  const children = Array.from({ length: watching.length - 1 }, () => ['ns', 'michelangelo/ingester']);
  assert.deepEqual(selections, [['ns', undefined], ...children]);
  stop.abort();
  await Promise.all(running);
});
