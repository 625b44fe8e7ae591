// The part of a kubelet's HTTPS API that `kubectl logs` needs. Only the API server's own client certificate is let in.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeConfiguration } from './configuration.ts';

/** A container's output, as far as the node knows it. */
export interface LogSource {
  /** The last run first. */
  readonly files: readonly string[];
  readonly running: () => boolean;
}

export type FindLogs = (namespace: string, pod: string, container: string) => LogSource | undefined;

const chunkBytes = 64 * 1024;
const followMs = 100;

export function createLogServer({ serving }: NodeConfiguration, find: FindLogs): Server {
  const { certificatePem: cert, keyPem: key, clientCaPem: ca } = serving;
  return createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, (request, response) => {
    const url = new URL(request.url ?? '/', 'https://node');
    const [, api, namespace = '', pod = '', container = ''] = url.pathname.split('/').map(decodeURIComponent);
    if (url.pathname === '/healthz') response.end('ok');
    else if (api !== 'containerLogs')
      refuse(response, 501, 'the process node serves logs only, no exec and no port-forward');
    else {
      const logs = find(namespace, pod, container);
      if (logs === undefined) refuse(response, 404, `the node has no container ${namespace}/${pod}/${container}`);
      else void send(logs, url.searchParams, response);
    }
  });
}

async function send(logs: LogSource, query: URLSearchParams, response: ServerResponse): Promise<void> {
  const previous = query.get('previous') === 'true';
  const file = logs.files[previous ? 1 : 0];
  if (file === undefined) {
    refuse(response, 400, previous ? 'previous terminated container not found' : 'the container has not started');
    return;
  }
  const follow = query.get('follow') === 'true' && !previous;
  const limit = Number(query.get('limitBytes') ?? Number.POSITIVE_INFINITY);
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.flushHeaders();
  const descriptor = openSync(file, 'r');
  try {
    let position = startOf(descriptor, query.get('tailLines'));
    const end = position + limit;
    for (;;) {
      // Asked before reading: what it wrote until then is read for sure.
      const goesOn = follow && logs.running();
      position = copy(descriptor, position, end, response);
      if (!goesOn || position >= end || response.destroyed) break;
      await delay(followMs);
    }
  } finally {
    closeSync(descriptor);
    response.end();
  }
}

function copy(descriptor: number, from: number, end: number, response: ServerResponse): number {
  const buffer = Buffer.alloc(chunkBytes);
  for (let position = from; ; ) {
    const wanted = Math.min(chunkBytes, end - position);
    const read = wanted <= 0 ? 0 : readSync(descriptor, buffer, 0, wanted, position);
    if (read === 0) return position;
    response.write(Buffer.from(buffer.subarray(0, read)));
    position += read;
  }
}

/** Position from which on there are so many lines. */
function startOf(descriptor: number, tailLines: string | null): number {
  if (tailLines === null) return 0;
  const wanted = Number(tailLines);
  const { size } = fstatSync(descriptor);
  if (wanted === 0) return size;
  const buffer = Buffer.alloc(chunkBytes);
  let seen = 0;
  for (let end = size; end > 0; end -= Math.min(chunkBytes, end)) {
    const start = Math.max(0, end - chunkBytes);
    readSync(descriptor, buffer, 0, end - start, start);
    for (let at = end - 1; at >= start; at -= 1) {
      // The line break that ends the last line does not begin another.
      if (buffer[at - start] !== 10 || at === size - 1) continue;
      seen += 1;
      if (seen === wanted) return at + 1;
    }
  }
  return 0;
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${why}\n`);
}
