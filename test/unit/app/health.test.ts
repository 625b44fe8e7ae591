import assert from 'node:assert/strict';
import { isIPv6 } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { Gauge, Registry } from 'prom-client';

import { type ReadinessCheck, startHealthServer } from '../../../src/app/health.ts';
import { CodedError } from '../../../src/base/errors.ts';
import { loopbacks } from '../../support/loopbacks.ts';

const broken = new CodedError('TEST_BROKEN', 'no such thing');

async function ask(
  t: TestContext,
  path: string,
  { checks = {}, registry }: { checks?: Readonly<Record<string, ReadinessCheck>>; registry?: Registry },
) {
  const server = await startHealthServer({ host: '127.0.0.1', port: 0 }, checks, registry);
  t.after(() => server.close());
  const answers = [];
  // The second one shows that the server survived the first.
  for (let round = 0; round < 2; round += 1) {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
    answers.push({ status: answer.status, body: await answer.text() });
  }
  return answers;
}

describe('the health server', () => {
  it('answers over IPv4 and IPv6 where its address has no host', async (t) => {
    const server = await startHealthServer({ port: 0 }, {});
    t.after(() => server.close());
    for (const address of loopbacks()) {
      const host = isIPv6(address) ? `[${address}]` : address;
      assert.equal((await fetch(`http://${host}:${server.port}/healthz`)).status, 200);
    }
  });

  it('shows a readiness check that throws as a problem and goes on serving', async (t) => {
    const throwing = (): string => {
      throw broken;
    };
    for (const { status, body } of await ask(t, '/readyz', { checks: { throwing, fine: () => undefined } })) {
      assert.equal(status, 503);
      assert.match(body, /\[-\] throwing: the check failed: no such thing\n\[\+\] fine ok/);
    }
  });

  it('answers 500 where a metric cannot be read and goes on serving', async (t) => {
    const registry = new Registry();
    const collect = (): never => {
      throw broken;
    };
    new Gauge({ name: 'broken', help: 'broken', registers: [registry], collect });
    for (const { status, body } of await ask(t, '/metrics', { registry })) {
      assert.equal(status, 500);
      assert.match(body, /the metrics could not be read: no such thing/);
    }
  });
});
