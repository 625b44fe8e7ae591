// The HTTPS server of a role: how it starts, takes a new certificate, and stops without cutting anybody off.
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { Connections } from './connections.ts';

/** What the server shows, and whom it trusts; all PEM. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /**
   * Clients are asked for a certificate of this authority, and come in without one too. Missing: nobody is asked.
   * Undefined: they are asked, and nobody is trusted.
   */
  readonly clientCa?: string | undefined;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Milliseconds for the head of a request. */
  readonly headersTimeoutMs: number;
  /** Milliseconds for a whole request; five minutes, as Node has it, where it is missing. */
  readonly requestTimeoutMs?: number;
}

export interface HttpsServer {
  readonly server: Server;
  readonly connections: Connections;
}

/** The API server closes connections that nobody used for 90 s; closing them first would break calls on their way. */
export const KEEP_ALIVE_MS = 95_000;
/** As long as the API server waits for it; a handshake holds up the end of the server. */
const HANDSHAKE_MS = 10_000;

/** Resolves once the server accepts connections; rejects where the address cannot be used. */
export async function listen(handler: RequestListener, tls: ServerTls, options: ListenOptions): Promise<HttpsServer> {
  const { headersTimeoutMs, requestTimeoutMs } = options;
  const connections = new Connections();
  const server = createServer(
    {
      ...secureContext(tls),
      // Clients without a certificate come with a token.
      ...('clientCa' in tls ? { requestCert: true, rejectUnauthorized: false } : {}),
      headersTimeout: headersTimeoutMs,
      ...(requestTimeoutMs === undefined ? {} : { requestTimeout: requestTimeoutMs }),
      keepAliveTimeout: KEEP_ALIVE_MS,
      handshakeTimeout: HANDSHAKE_MS,
    },
    connections.handling(handler),
  );
  server.on('secureConnection', (socket) => connections.opened(socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { server, connections };
}

/** For new connections; those that are open keep what they agreed on, and the API server checks only at the start. */
export function useTls({ server }: HttpsServer, tls: ServerTls): void {
  server.setSecureContext(secureContext(tls));
}

interface SecureContext {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string[];
  readonly minVersion: 'TLSv1.2';
}

function secureContext(tls: ServerTls): SecureContext {
  const { cert, key, clientCa } = tls;
  // An empty list trusts nobody; leaving it out would trust every public authority.
  const trusted = 'clientCa' in tls ? { ca: clientCa === undefined ? [] : [clientCa] } : {};
  return { cert, key, ...trusted, minVersion: 'TLSv1.2' };
}

export function portOf({ server }: HttpsServer): number {
  return (server.address() as AddressInfo).port;
}

/** Takes no new connection, and ends the others without losing a request; those still open after the deadline are cut. */
export async function close({ server, connections }: HttpsServer, deadlineMs: number): Promise<void> {
  // That of `https.Server` cuts idle connections, whatever is on its way to them.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  connections.end();
  const timer = setTimeout(() => connections.cut(), deadlineMs);
  await closed;
  clearTimeout(timer);
}
