// The webhook role. Imports neither the database nor the API client, so that it starts fast and needs neither to answer.

import { createWebhookApp } from '../../webhooks/app.ts';
import { loadKeyPair } from '../../webhooks/certificate.ts';
import { close, listen, portOf } from '../../webhooks/server.ts';
import { untilAborted } from '../base/abort.ts';
import type { Logger } from '../base/logger.ts';
import type { Configuration } from '../config/schema.ts';
import { parseAddress } from './address.ts';
import { startHealthServer } from './health.ts';

const DRAIN_MS = 10_000;

export async function runWebhook(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  const { webhook, health } = configuration;
  const pair = loadKeyPair(webhook.certDir);
  const app = createWebhookApp({ logger, reconcilerUser: webhook.reconcilerUser });
  const server = await listen(app, pair, parseAddress('webhook.bindAddress', webhook.bindAddress));
  const healthServer = await startHealthServer(parseAddress('health.bindAddress', health.bindAddress), {
    serving: () => (signal.aborted ? 'shutting down' : undefined),
  });
  logger.info({ port: portOf(server), healthPort: healthServer.port }, 'Webhook ready');
  await untilAborted(signal);
  await close(server, DRAIN_MS);
  await healthServer.close();
  logger.info({}, 'Webhook stopped');
}
