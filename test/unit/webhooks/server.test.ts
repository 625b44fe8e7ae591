import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type AgentOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { connect, TLSSocket } from 'node:tls';
import { type Certificate, createAuthority } from '../../../hack/local/certificates.ts';
import { close, listen, portOf, useTls } from '../../../src/base/https-server.ts';
import { createWebhookMetrics, type WebhookMetrics } from '../../../src/metrics/metrics.ts';
import { loadKeyPair, watchCertificate } from '../../../webhooks/certificate.ts';
import type { ValidatingPolicy } from '../../../webhooks/policy.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';
import { aReview } from '../../support/review.ts';
import { aWebhookApp } from '../../support/webhook-app.ts';

const directory = mkdtempSync(join(tmpdir(), 'webhook-server-'));
after(() => rmSync(directory, { recursive: true }));

const authority = await createAuthority('test-ca');
const [first, second] = await Promise.all(
  ['first', 'second'].map((commonName) => authority.issue({ commonName, hosts: ['127.0.0.1'] })),
);
assert.ok(first !== undefined && second !== undefined);

const PERIOD_MS = 10_000;

function write({ certificatePem, keyPem }: Certificate): void {
  writeFileSync(join(directory, 'tls.crt'), certificatePem);
  writeFileSync(join(directory, 'tls.key'), keyPem);
}

interface Answer {
  readonly status: number;
  readonly connection: string | undefined;
  readonly commonName: string;
}

function call(port: number, options: AgentOptions = {}, path = '/mutate'): Promise<Answer> {
  const agent = new Agent({ ca: authority.caPem, ...options });
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (response) => {
      // The certificate is gone once the connection is.
      assert.ok(response.socket instanceof TLSSocket);
      const { subject } = response.socket.getPeerCertificate();
      response.resume().on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          connection: response.headers.connection,
          commonName: String(subject.CN),
        });
      });
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(aReview()));
  }).finally(() => agent.destroy()) as Promise<Answer>;
}

describe('the HTTPS server', () => {
  let server: Awaited<ReturnType<typeof listen>>;
  let clock: FakeClock;
  let logger: RecordingLogger;
  let metrics: WebhookMetrics;
  let shuttingDown = false;
  let stopWatching: () => void;
  let asked: PromiseWithResolvers<() => void>;

  /** Answers `POST /validate` only when the test says so. */
  const waiting: ValidatingPolicy = {
    name: 'waiting',
    storedOnly: true,
    appliesTo: () => true,
    review: () => new Promise((resolve) => asked.resolve(() => resolve({ allowed: true }))),
  };

  beforeEach(async () => {
    write(first);
    shuttingDown = false;
    asked = Promise.withResolvers();
    clock = new FakeClock();
    logger = new RecordingLogger();
    metrics = createWebhookMetrics();
    const { app } = aWebhookApp({ shuttingDown: () => shuttingDown, policies: [waiting] });
    const pair = loadKeyPair(directory);
    server = await listen(app, pair, { host: '127.0.0.1', port: 0 });
    stopWatching = watchCertificate(pair, {
      certDir: directory,
      clientCaFile: '',
      periodMs: PERIOD_MS,
      onChange: (renewed) => useTls(server, renewed),
      clock,
      logger,
      metrics: metrics.admission,
    });
  });
  afterEach(async () => {
    stopWatching();
    await close(server, 1000);
  });

  const metric = async (name: string): Promise<number> => {
    const line = (await metrics.registry.metrics()).split('\n').find((each) => each.startsWith(`${name} `));
    return Number(line?.split(' ')[1]);
  };

  it('uses a renewed certificate for new connections', async () => {
    assert.equal((await call(portOf(server))).commonName, 'first');
    write(second);
    await clock.advance(PERIOD_MS);
    assert.equal((await call(portOf(server))).commonName, 'second');
    const { notAfter } = loadKeyPair(directory);
    assert.equal(await metric('ingester_webhook_certificate_not_after_seconds'), notAfter.getTime() / 1000);
  });

  it('keeps the old pair while certificate and key do not fit, says so once, and takes the new one when they do', async () => {
    writeFileSync(join(directory, 'tls.crt'), second.certificatePem);
    await clock.advance(PERIOD_MS);
    await clock.advance(PERIOD_MS);
    assert.equal((await call(portOf(server))).commonName, 'first');
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
    assert.equal(await metric('certwatcher_read_certificate_errors_total'), 2);
    write(second);
    await clock.advance(PERIOD_MS);
    assert.equal((await call(portOf(server))).commonName, 'second');
  });

  it('replaces nothing while the content is the same, however often the files are written', async () => {
    write(first);
    await clock.advance(PERIOD_MS);
    assert.deepEqual(logger.messages(), []);
    assert.equal(await metric('certwatcher_read_certificate_total'), 2);
  });

  it('speaks nothing older than TLS 1.2', async () => {
    await assert.rejects(call(portOf(server), { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }));
    assert.equal((await call(portOf(server), { maxVersion: 'TLSv1.2' })).status, 200);
  });

  it('asks for new connections while it shuts down, and still answers', async () => {
    assert.equal((await call(portOf(server), { keepAlive: true })).connection, 'keep-alive');
    shuttingDown = true;
    const { status, connection } = await call(portOf(server), { keepAlive: true });
    assert.deepEqual({ status, connection }, { status: 200, connection: 'close' });
  });

  it('finishes a request in flight before it closes', async () => {
    const answer = call(portOf(server), {}, '/validate');
    const release = await asked.promise;
    const closed = close(server, 60_000);
    release();
    assert.equal((await answer).status, 200);
    await closed;
  });

  it('asks clients that kept a connection to connect again elsewhere, even when their request is on its way', async () => {
    const connections = await Promise.all(['used', 'unused'].map(() => open()));
    const [used] = connections;
    const first = used?.answer();
    used?.send();
    assert.match((await first) ?? '', /^HTTP\/1.1 200 OK\r\n/);
    const closings = connections.map(({ answer }) => answer());
    const closed = close(server, 60_000);
    for (const { send } of connections) send();
    for (const closing of closings) {
      // The API server repeats its call after this answer, and after no other that ends a connection.
      assert.match(await closing, /^HTTP\/1.1 503 Service Unavailable\r\nRetry-After: 0\r\n/);
    }
    await closed;
  });

  it('cuts at the deadline a connection that a client keeps open', async () => {
    // It does not read, and so never learns of the closing response.
    const { socket } = await open();
    await close(server, 1);
    socket.destroy();
  });

  interface Connection {
    readonly socket: TLSSocket;
    readonly send: () => void;
    /** The first bytes of the next answer. */
    readonly answer: () => Promise<string>;
  }

  async function open(): Promise<Connection> {
    const socket = connect({ host: '127.0.0.1', port: portOf(server), ca: authority.caPem });
    await Promise.all([
      new Promise((resolve) => socket.once('secureConnect', resolve)),
      new Promise((resolve) => server.server.once('secureConnection', resolve)),
    ]);
    const body = JSON.stringify(aReview());
    const head = `POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    return {
      socket,
      send: () => void socket.write(`${head}\r\n\r\n${body}`),
      answer: () => new Promise((resolve) => socket.once('data', (data: Buffer) => resolve(data.toString()))),
    };
  }
});
