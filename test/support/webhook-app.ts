import type { Express } from 'express';
import { systemClock } from '../../src/base/clock.ts';
import { createWebhookMetrics } from '../../src/metrics/metrics.ts';
import { createWebhookApp, type WebhookAppOptions } from '../../webhooks/app.ts';
import { RecordingLogger } from './recording-logger.ts';

export const RECONCILER = 'system:serviceaccount:ingester-system:ingester-reconciler';

export interface TestedApp {
  readonly app: Express;
  readonly logger: RecordingLogger;
  /** The lines of /metrics that begin with this. */
  readonly metrics: (prefix: string) => Promise<readonly string[]>;
}

/** The webhook's application with no rules, unless a test says otherwise. */
export function aWebhookApp(options: Partial<WebhookAppOptions> = {}): TestedApp {
  const logger = new RecordingLogger();
  const metrics = createWebhookMetrics();
  const app = createWebhookApp({
    logger,
    clock: systemClock,
    metrics,
    reconcilerUser: RECONCILER,
    policies: [],
    shuttingDown: () => false,
    ...options,
  });
  const lines = async (prefix: string): Promise<readonly string[]> =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(prefix));
  return { app, logger, metrics: lines };
}
