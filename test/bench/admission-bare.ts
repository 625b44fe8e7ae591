// What an HTTPS server costs that does nothing: it reads the body and answers one fixed review. Argument: the folder
// with tls.crt and tls.key. Prints its port, and ends with its input.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const [folder = ''] = process.argv.slice(2);
const read = (name: string): Buffer => readFileSync(join(folder, name));
const answer = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: 'review-uid', allowed: true },
});
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) };

const server = createServer(
  { cert: read('tls.crt'), key: read('tls.key'), keepAliveTimeout: 95_000 },
  (request, response) => {
    request.on('data', () => undefined);
    request.on('end', () => response.writeHead(200, headers).end(answer));
  },
);
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();
