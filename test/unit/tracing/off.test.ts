// What is loaded of OpenTelemetry: nothing, unless the environment says where traces go.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const root = join(import.meta.dirname, '../../..');

/** Files of the library's own folders; its API is a part of prom-client. */
const program = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  await import('./src/app/webhook/webhook.ts');
  await import('./src/app/reconciler/reconciler.ts');
  const { startTracing } = await import('./src/app/tracing.ts');
  const { createWebhookMetrics } = await import('./src/metrics/metrics.ts');
  const { systemClock } = await import('./src/base/clock.ts');
  const { createLogger } = await import('./src/base/logger.ts');
  const logger = createLogger('error', 'webhook', 'stderr');
  const tracing = await startTracing({ role: 'webhook', clock: systemClock, logger, metrics: createWebhookMetrics() });
  await tracing?.close();
  const ours = loaded.filter((url) => url.includes('/@opentelemetry/') && !url.includes('/@opentelemetry/api/'));
  process.stdout.write(JSON.stringify({ on: tracing !== undefined, files: ours.length }));
`;

function loadedWith(env: Readonly<Record<string, string>>): unknown {
  const args = ['--input-type=module', '--eval', program];
  const { PATH = '' } = process.env;
  return JSON.parse(execFileSync(process.execPath, args, { cwd: root, env: { PATH, ...env }, encoding: 'utf8' }));
}

describe('OpenTelemetry', () => {
  it('is not loaded where no endpoint is set', () => {
    assert.deepEqual(loadedWith({ OTEL_TRACES_SAMPLER: 'always_on' }), { on: false, files: 0 });
  });

  it('is loaded where one is', () => {
    const { on, files } = loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }) as {
      readonly on: boolean;
      readonly files: number;
    };
    assert.ok(on && files > 10, `${files} files`);
  });
});
