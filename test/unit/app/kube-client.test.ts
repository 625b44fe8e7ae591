import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../../../src/app/kube-client.ts';
import { loadConfiguration } from '../../../src/config/load.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('calls to the API server keep to the rate of the configuration after a burst of twice that, and show how long they waited', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'kube-client-'));
  let answered = 0;
  const server = createServer((_request, response) => {
    answered += 1;
    response.setHeader('content-type', 'application/json').end('{"metadata":{"name":"m","uid":"u"}}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(folder, 'kubeconfig');
  const named = (what: object): object[] => [{ name: 'c', ...what }];
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    clusters: named({ cluster: { server: `http://127.0.0.1:${port}` } }),
    users: named({ user: { token: 't' } }),
    contexts: named({ context: { cluster: 'c', user: 'c' } }),
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const { kubernetes, ...others } = loadConfiguration({ file: undefined, env: {} });
  const clock = new FakeClock();
  const metrics = createMetrics();
  const client = createClient({ ...others, kubernetes: { ...kubernetes, kubeconfig, qps: 1 } }, clock, metrics);
  t.after(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const models = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
  const get = () => client.get({ resource: models, namespace: 'ns', name: 'm' });
  await Promise.all([get(), get()]);
  const third = get();
  await delay(100);
  assert.equal(answered, 2);
  await clock.advance(1000);
  await third;
  assert.equal(answered, 3);
  const text = await metrics.registry.metrics();
  assert.match(text, /rest_client_rate_limiter_duration_seconds_sum\{verb="GET",host="127\.0\.0\.1:\d+"\} 1\n/);
});
