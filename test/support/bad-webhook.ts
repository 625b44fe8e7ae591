import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Authority } from '../../hack/local/certificates.ts';

export interface BadWebhookOptions {
  readonly authority: Authority;
  readonly listener: RequestListener;
  /** Whose name the certificate bears; the server is reached as 127.0.0.1. */
  readonly host?: string;
  readonly notAfter?: Date;
  readonly plain?: boolean;
}

export interface BadWebhook {
  readonly url: string;
  close(): void;
}

/** A server that the API server is told to call, and that does one thing wrong. */
export async function startBadWebhook(options: BadWebhookOptions): Promise<BadWebhook> {
  const { authority, listener, host = '127.0.0.1', notAfter, plain = false } = options;
  const expiry = notAfter === undefined ? {} : { notAfter };
  const { certificatePem, keyPem } = await authority.issue({ commonName: 'bad', hosts: [host], ...expiry });
  const server: Server = plain
    ? createHttpServer(listener)
    : createHttpsServer({ cert: certificatePem, key: keyPem }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export async function uidOf(call: AsyncIterable<Buffer>): Promise<string> {
  return (await reviewedIn(call)).uid;
}

/** What the body of the API server's call is about. */
export async function reviewedIn(
  call: AsyncIterable<Buffer>,
): Promise<{ readonly uid: string; readonly name: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of call) chunks.push(chunk);
  return (JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string; name: string } }).request;
}
