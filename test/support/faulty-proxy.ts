// An HTTPS proxy in front of the API server that refuses, and breaks off, as it is told. It shows a certificate of the
// cluster's authority, and is the administrator to the API server.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ControlPlane } from '../../hack/local/control-plane.ts';

export interface Proxied {
  /** `version`: a list of one object, which asks for its version. `page`: a list that goes on. */
  readonly kind: 'list' | 'page' | 'version' | 'watch' | 'other';
  readonly atMs: number;
  readonly refused: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
}

export interface FaultyProxy {
  readonly url: string;
  /** What came, in order. */
  readonly requests: readonly Proxied[];
  /** Ends what is open and answers everything with the refusal; undefined: lets everything through again. */
  refuse(refusal: Refusal | undefined): void;
  /** The next answer that carries data ends in the middle of it; then `meanwhile` is run. */
  breakNext(meanwhile?: () => void): void;
  /** Ends every connection. */
  cut(): void;
  close(): Promise<void>;
}

export async function startFaultyProxy(controlPlane: ControlPlane): Promise<FaultyProxy> {
  const { authority, caPem, url: target } = controlPlane;
  const pair = await authority.issue({ commonName: 'proxy', hosts: ['127.0.0.1'] });
  const admin = adminOf(controlPlane);
  const requests: Proxied[] = [];
  let refusal: Refusal | undefined;
  let breaking: (() => void) | undefined;
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, headers } = incoming;
    const options = { method, headers, agent: false, ca: caPem, ...admin };
    const upstream = request(`${target}${incoming.url ?? ''}`, options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('data', (chunk: Buffer) => {
        if (breaking === undefined) {
          outgoing.write(chunk);
          return;
        }
        const meanwhile = breaking;
        breaking = undefined;
        // What the client has of the answer now ends within a line.
        outgoing.write(chunk.subarray(0, Math.floor(chunk.length / 2)), () => {
          meanwhile();
          outgoing.destroy();
        });
        answer.destroy();
      });
      answer.on('end', () => outgoing.end());
      answer.on('error', () => outgoing.destroy());
      outgoing.on('close', () => answer.destroy());
    });
    upstream.on('error', () => outgoing.destroy());
    outgoing.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  };
  const server = createServer({ cert: pair.certificatePem, key: pair.keyPem }, (incoming, outgoing) => {
    requests.push({ kind: kindOf(incoming), atMs: performance.now(), refused: refusal !== undefined });
    if (refusal === undefined) forward(incoming, outgoing);
    else outgoing.writeHead(refusal.status, refusal.headers).end();
  });
  const cut = (): void => server.closeAllConnections();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    cut,
    refuse: (next) => {
      refusal = next;
      cut();
    },
    breakNext: (meanwhile = () => undefined) => {
      breaking = meanwhile;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}

function kindOf({ method, url = '' }: IncomingMessage): Proxied['kind'] {
  const query = new URL(url, 'https://proxy').searchParams;
  if (method !== 'GET') return 'other';
  if (query.has('continue')) return 'page';
  if (query.get('watch') !== 'true') {
    const limit = query.get('limit');
    return limit === null ? 'other' : limit === '1' ? 'version' : 'list';
  }
  return 'watch';
}

function adminOf({ kubeconfig }: ControlPlane): { readonly cert: Buffer; readonly key: Buffer } {
  const { users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { users: { user: Record<string, string> }[] };
  const data = (name: string): Buffer => Buffer.from(users[0]?.user[`${name}-data`] ?? '', 'base64');
  return { cert: data('client-certificate'), key: data('client-key') };
}
