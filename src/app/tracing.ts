// The tracer of a role; undefined, and nothing loaded, unless the environment says where traces go.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { programVersion } from '../base/program-files.ts';
import type { TracingMetrics } from '../metrics/tracing.ts';
import type { Tracing } from '../tracing/open-telemetry.ts';
import { readTraceSettings } from '../tracing/settings.ts';

export interface TracedRole {
  readonly role: 'webhook' | 'reconciler';
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: { readonly tracing: TracingMetrics };
}

export async function startTracing({ metrics, ...role }: TracedRole): Promise<Tracing | undefined> {
  const { settings, problems } = readTraceSettings(process.env);
  for (const problem of problems) role.logger.warn({}, problem);
  if (settings === undefined) return undefined;
  const { startOpenTelemetry } = await import('../tracing/open-telemetry.ts');
  return startOpenTelemetry(settings, { ...role, version: programVersion(), metrics: metrics.tracing });
}
