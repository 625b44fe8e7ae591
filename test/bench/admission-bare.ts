// What an HTTPS server costs that does next to nothing: it reads the body and answers every review with the same patch, one
// that adds a finalizer. Argument: the folder with tls.crt and tls.key. Prints its port, and ends with its input.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const [folder = ''] = process.argv.slice(2);
const read = (name: string): Buffer => readFileSync(join(folder, name));
const patch = [{ op: 'add', path: '/metadata/finalizers', value: ['bench.example/bare'] }];
const answerTo = (uid: string): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid, allowed: true, patchType: 'JSONPatch', patch: btoa(JSON.stringify(patch)) },
  });
/** The uid of the review is near its beginning. */
const uidOf = (body: readonly Buffer[]): string =>
  /"uid":"(?<uid>[^"]*)"/.exec(body[0]?.toString('latin1', 0, 1024) ?? '')?.groups?.['uid'] ?? '';

const server = createServer(
  { cert: read('tls.crt'), key: read('tls.key'), keepAliveTimeout: 95_000 },
  (request, response) => {
    const body: Buffer[] = [];
    request.on('data', (chunk: Buffer) => body.push(chunk));
    request.on('end', () => {
      const answer = answerTo(uidOf(body));
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) };
      response.writeHead(200, headers).end(answer);
    });
  },
);
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();
