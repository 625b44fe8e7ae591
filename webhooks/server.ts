import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { KeyPair } from './certificate.ts';

/** The API server keeps idle connections for 90 s; closing sooner than it does would break calls in flight. */
const KEEP_ALIVE_MS = 95_000;
/** The API server never waits longer than 30 s for a webhook. */
const REQUEST_MS = 32_000;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
}

/** Resolves once the server accepts connections; rejects where the address cannot be used. */
export async function listen(app: Express, pair: KeyPair, options: ListenOptions): Promise<Server> {
  const server = createServer(
    {
      cert: pair.cert,
      key: pair.key,
      minVersion: 'TLSv1.2',
      headersTimeout: REQUEST_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    app,
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return server;
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Lets requests in flight finish, then closes; connections still busy after the deadline are cut. */
export async function close(server: Server, deadlineMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearTimeout(timer);
}
