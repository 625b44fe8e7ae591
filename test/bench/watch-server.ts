// A scripted API server of one resource over TLS, in a process of its own: it lists nothing, or many objects, and then
// sends as many events as it is asked for, as fast as they are read. Prints its port when it listens.
//
// Arguments: folder with tls.crt and tls.key, objects in the list, events after it.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { listPage, type ScriptedList } from './list-page.ts';

const [folder = '', listedText = '0', eventsText = '0'] = process.argv.slice(2);
const listed = Number(listedText);
const events = Number(eventsText);
/** Objects that the events go round. */
const NAMES = 2000;
/** The API server flushes what has piled up; a burst arrives many events at a time. */
const EVENTS_PER_WRITE = 16;

const managedFields = [
  {
    manager: 'kubectl',
    operation: 'Apply',
    apiVersion: 'michelangelo.api/v2',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:spec': Object.fromEntries(Array.from({ length: 44 }, (_, index) => [`f:fieldNumber${index}`, { '.': {} }])),
    },
  },
];

/** About 4 KB, a quarter of it managedFields, in the order of keys of the API server. */
function objectText(index: number, version: number): string {
  return JSON.stringify({
    apiVersion: 'michelangelo.api/v2',
    kind: 'Model',
    metadata: {
      annotations: { note: 'n'.repeat(300) },
      creationTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['michelangelo/Ingester'],
      generation: 1,
      labels: { app: 'bench', team: `team-${index % 20}` },
      managedFields,
      name: `object-${index}`,
      namespace: 'bench',
      resourceVersion: String(version),
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    },
    spec: {
      algorithm: 'xgboost',
      description: 'd'.repeat(400),
      owner: { name: 'bench' },
      qualityScores: Array.from({ length: 32 }, (_, score) => ({
        name: `score-${score}`,
        source: 'bench',
        value: 0.5,
      })),
    },
    status: {},
  });
}

const line = (type: string, index: number, version: number): string =>
  `{"type":"${type}","object":${objectText(index, version)}}\n`;

/** Writes the lines in batches, no faster than they are read. */
async function send(response: ServerResponse, count: number, lineOf: (index: number) => string): Promise<void> {
  for (let index = 0; index < count; index += EVENTS_PER_WRITE) {
    const batch = Math.min(EVENTS_PER_WRITE, count - index);
    const text = Array.from({ length: batch }, (_, offset) => lineOf(index + offset)).join('');
    if (!response.write(text)) await once(response, 'drain');
  }
}

async function watch(response: ServerResponse): Promise<void> {
  const type = (index: number): string => (index < NAMES && listed === 0 ? 'ADDED' : 'MODIFIED');
  await send(response, events, (index) => line(type(index), index % NAMES, listed + 2 + index));
}

/** The objects that there are before the events. */
const before: ScriptedList = {
  kind: 'Model',
  count: listed,
  resourceVersion: listed + 1,
  textOf: (index) => objectText(index, index + 1),
};

let connections = 0;
const server = createServer(
  { cert: readFileSync(join(folder, 'tls.crt')), key: readFileSync(join(folder, 'tls.key')) },
  (request, response) => {
    const url = new URL(request.url ?? '/', 'https://localhost');
    response.writeHead(200, { 'content-type': 'application/json' });
    if (url.pathname === '/connections') {
      response.end(JSON.stringify({ connections }));
    } else if (url.searchParams.get('watch') === 'true') {
      response.flushHeaders();
      void watch(response);
    } else {
      response.end(listPage(url.searchParams, before));
    }
  },
);
server.on('secureConnection', () => (connections += 1));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
