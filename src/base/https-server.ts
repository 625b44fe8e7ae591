// The HTTPS server of a role: how it starts, takes a new certificate, and stops without cutting off a request.
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { ConnectionLimits } from './connection-limits.ts';
import { Connections, type EndReason } from './connections.ts';

/** What the server shows, and whom it trusts; all PEM. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /**
   * Clients are asked for a certificate of this authority, and may connect without one too. Missing: clients are not
   * asked. Undefined: clients are asked, and none is trusted.
   */
  readonly clientCa?: string | undefined;
}

/** Where a server listens: without a host at every address of IPv4 and, where the machine has it, of IPv6. */
export interface Address {
  readonly host?: string;
  readonly port: number;
}

export interface ListenOptions extends Address {
  /** What differs from `connectionLimits`. */
  readonly limits?: Partial<ConnectionLimits>;
  /** Bytes of the head of a request, 16 KiB where it is missing. */
  readonly headBytes?: number;
  /** Called for each connection that had to go before its client wanted. */
  readonly onEnded?: (reason: EndReason) => void;
}

export interface HttpsServer {
  readonly server: Server;
  readonly connections: Connections;
}

/** The API server closes connections that were idle for 90 s; closing them first would break calls on their way. */
const KEEP_ALIVE_MS = 95_000;

/**
 * An API server makes as many calls at once as it takes requests, 600 unless it is told otherwise, and most of them are
 * short. A connection costs about 56 KiB.
 */
export const connectionLimits: ConnectionLimits = {
  most: 512,
  idleMs: KEEP_ALIVE_MS,
  headMs: 5000,
  bodyMs: 10_000,
};
const HEAD_BYTES = 16 * 1024;
/** As long as the API server waits for it; a handshake holds up the end of the server. */
const HANDSHAKE_MS = 10_000;

/** Resolves once the server accepts connections; rejects where the address cannot be used. */
export async function listen(handler: RequestListener, tls: ServerTls, options: ListenOptions): Promise<HttpsServer> {
  const { limits, onEnded, headBytes = HEAD_BYTES } = options;
  const connections = new Connections({
    limits: { ...connectionLimits, ...limits },
    ...(onEnded === undefined ? {} : { onEnded }),
  });
  const server = createServer(
    {
      ...secureContext(tls),
      // Clients without a certificate come with a token.
      ...('clientCa' in tls ? { requestCert: true, rejectUnauthorized: false } : {}),
      // Node's own run from the opening of a connection, and the API server opens some that it does not use yet.
      headersTimeout: 0,
      maxHeaderSize: headBytes,
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      handshakeTimeout: HANDSHAKE_MS,
    },
    connections.handling(handler),
  );
  // The bytes are bounded; what is left out beyond a number might be the group that a right is given to.
  server.maxHeadersCount = 0;
  server.on('connection', (socket: Socket) => connections.accepted(socket));
  server.on('secureConnection', (socket) => connections.opened(socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    const { host, port } = options;
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
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
  // An empty list trusts no client; leaving it out would trust every public authority.
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
  connections.stop();
}
