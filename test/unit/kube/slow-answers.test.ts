// An API server, or a proxy before it, that goes on answering and never comes to the end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setInterval } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import { HttpKubeClient } from '../../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../../src/kube/http/transport.ts';

const models = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
const ref = { resource: models, namespace: 'ns', name: 'm' };
const LIST = '{"kind":"ModelList","metadata":{"resourceVersion":"7"},"items":[]}';
const pace = { graceMs: 500, bytesPerSecond: 1000 };
const never = new AbortController().signal;

describe('an answer of the API server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'slow-answers-'));
  let server: Server;
  let client: HttpKubeClient;
  let answer: (response: ServerResponse) => Promise<void>;

  before(async () => {
    server = createServer((_request, response) => {
      void answer(response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const kubeconfig = join(folder, 'kubeconfig');
    const named = (name: string, what: object): object[] => [{ name, ...what }];
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
      clusters: named('c', { cluster: { server: url } }),
      users: named('u', { user: { token: 't' } }),
      contexts: named('c', { context: { cluster: 'c', user: 'u' } }),
    };
    writeFileSync(kubeconfig, JSON.stringify(config));
    client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }), { pace });
  });
  after(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });

  /** As fast as it is said, as far as the client listens. */
  async function drip(response: ServerResponse, text: string, everyMs: number): Promise<void> {
    const pieces = text[Symbol.iterator]();
    for await (const _ of setInterval(everyMs)) {
      const { value, done } = pieces.next();
      if (done === true || response.destroyed) break;
      response.write(value);
    }
    response.end();
  }

  it('that comes a byte at a time is given up, for a list as for an object', async () => {
    const spaces = ' '.repeat(1000);
    answer = (response) => drip(response, spaces, 20);
    const started = performance.now();
    await assert.rejects(client.list(models, { limit: 500 }, never), /only \d+ bytes of the answer came/);
    await assert.rejects(client.get(ref), /only \d+ bytes of the answer came/);
    assert.ok(performance.now() - started < 10_000, 'sooner than the server comes to the end');
  });

  it('that explains a refusal without end is a refusal all the same', async () => {
    answer = async (response) => {
      response.statusCode = 409;
      const filler = ' '.repeat(1024);
      while (!response.destroyed) {
        await new Promise((resolve) => setImmediate(resolve));
        response.write(filler);
      }
    };
    await assert.rejects(client.get(ref), { code: 'KUBE_CONFLICT' });
  });

  it('that is slow at the beginning, or large and not slow, is waited for', async () => {
    answer = (response) => drip(response, LIST, 4);
    assert.equal((await client.list(models, { limit: 500 }, never)).resourceVersion, '7');
    answer = async (response) => {
      for (let part = 0; part < 10; part += 1) {
        response.write(' '.repeat(1000));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      response.end(LIST);
    };
    assert.equal((await client.list(models, { limit: 500 }, never)).resourceVersion, '7');
  });
});
