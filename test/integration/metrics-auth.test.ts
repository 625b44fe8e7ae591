// The component metrics-auth, with its own rights, on a real API server: who reads the metrics of a role, and who does not.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Agent, request } from 'undici';
import { createAuthority } from '../../hack/local/certificates.ts';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { kubeconfigText } from '../../hack/local/kubeconfig.ts';
import { probe } from '../../hack/local/role-process.ts';
import { startHealth } from '../../src/app/health.ts';
import { type MetricsServer, startMetricsServer } from '../../src/app/metrics-server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import type { Configuration } from '../../src/config/schema.ts';
import { createWebhookMetrics } from '../../src/metrics/metrics.ts';
import { eventually } from '../support/eventually.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const NS = 'ingester-system';
const RBAC = join(import.meta.dirname, '../../config/components/metrics-auth/rbac.yaml');

describe('metrics for authorised users', () => {
  let controlPlane: ControlPlane;
  let folder: string;
  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await controlPlane.kubectlRun(args);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };
  const account = async (name: string): Promise<string> => {
    await kubectl('create', 'serviceaccount', name, '-n', NS);
    return kubectl('create', 'token', name, '-n', NS);
  };
  const permit = (name: string): Promise<string> =>
    kubectl(
      'create',
      'clusterrolebinding',
      name,
      '--clusterrole=ingester-metrics-reader',
      `--serviceaccount=${NS}:${name}`,
    );

  before(async () => {
    controlPlane = await startControlPlane({ progress: () => undefined });
    folder = mkdtempSync(join(tmpdir(), 'metrics-auth-'));
    await kubectl('create', 'namespace', NS);
    await kubectl('apply', '-f', RBAC);
    const token = await account('ingester-webhook');
    const { url, caPem } = controlPlane;
    writeFileSync(
      join(folder, 'kubeconfig'),
      kubeconfigText({ url, caPem, user: { name: 'ingester-webhook', token } }),
    );
  });
  after(async () => {
    await controlPlane.stop();
    rmSync(folder, { recursive: true });
  });

  const configured = (env: Readonly<Record<string, string>> = {}): Configuration =>
    loadConfiguration({
      file: undefined,
      env: {
        INGESTER_KUBERNETES_KUBECONFIG: join(folder, 'kubeconfig'),
        INGESTER_HEALTH_BIND_ADDRESS: '127.0.0.1:0',
        INGESTER_METRICS_BIND_ADDRESS: '127.0.0.1:0',
        ...env,
      },
    });
  const parts = () => ({ metrics: createWebhookMetrics(), clock: systemClock, logger: new RecordingLogger() });
  const served = async (t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<MetricsServer> => {
    const own = parts();
    const server = await startMetricsServer(configured(env), own);
    assert.ok(server !== undefined);
    t.after(() => server.close());
    return server;
  };
  const read = async (
    { port }: MetricsServer,
    token?: string,
    more: { path?: string; method?: 'POST'; ca?: string } = {},
  ) => {
    const { path = '/metrics', method = 'GET', ca } = more;
    const dispatcher = new Agent({ connect: ca === undefined ? { rejectUnauthorized: false } : { ca } });
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    try {
      const { statusCode, body } = await request(`https://localhost:${port}${path}`, { method, headers, dispatcher });
      return { status: statusCode, text: await body.text() };
    } finally {
      await dispatcher.close();
    }
  };

  it('are given to a user with the right, in the format of Prometheus', async (t) => {
    const token = await account('prometheus');
    await permit('prometheus');
    const server = await served(t);
    const { status, text } = await read(server, token);
    assert.equal(status, 200, text);
    assert.match(text, /^# HELP rest_client_requests_total/m);
  });

  it('are refused without a token, with one that is none, and to a user without the right until there is one', async (t) => {
    const server = await served(t);
    assert.deepEqual((await read(server)).status, 401);
    assert.deepEqual((await read(server, 'made-up')).status, 401);
    const token = await account('curious');
    const { status, text } = await read(server, token);
    assert.equal(status, 403);
    assert.match(text, /user "system:serviceaccount:ingester-system:curious" cannot get path "\/metrics"/);
    await permit('curious');
    // Another process, so that no answer from before is kept.
    const fresh = await served(t);
    await eventually(async () => assert.equal((await read(fresh, token)).status, 200));
  });

  it('are the only thing that the server answers, and only for GET', async (t) => {
    const token = await account('explorer');
    await permit('explorer');
    const server = await served(t);
    assert.equal((await read(server, token, { path: '/readyz' })).status, 404);
    assert.equal((await read(server, token, { method: 'POST' })).status, 405);
  });

  it('are not at the health port then, where they are otherwise', async (t) => {
    const ask = async (configuration: Configuration): Promise<readonly number[]> => {
      const health = await startHealth(configuration, { ...parts(), checks: {} });
      t.after(() => health.close());
      return [(await probe(health.port, '/readyz')).status, (await probe(health.port, '/metrics')).status];
    };
    assert.deepEqual(await ask(configured()), [200, 404]);
    const { metrics: _none, ...plain } = configured();
    assert.deepEqual(await ask({ ...plain, metrics: { certDir: '' } }), [200, 200]);
  });

  it('are served under the certificate of metrics.certDir, which a folder without one is told by name', async (t) => {
    const certDir = join(folder, 'tls');
    mkdirSync(certDir);
    await assert.rejects(served(t, { INGESTER_METRICS_CERT_DIR: certDir }), /Set metrics\.certDir to the folder/);
    const authority = await createAuthority('metrics-ca');
    const pair = await authority.issue({ commonName: 'metrics', hosts: ['localhost'] });
    writeFileSync(join(certDir, 'tls.crt'), pair.certificatePem);
    writeFileSync(join(certDir, 'tls.key'), pair.keyPem, { mode: 0o600 });
    const server = await served(t, { INGESTER_METRICS_CERT_DIR: certDir });
    assert.equal((await read(server, undefined, { ca: authority.caPem })).status, 401);
    await assert.rejects(read(server, undefined, { ca: controlPlane.caPem }));
  });

  it('are 503 while the API server cannot be asked about a new token, and go on for one that it confirmed', async (t) => {
    const known = await account('steady');
    await permit('steady');
    const unknown = await account('late');
    const server = await served(t);
    assert.equal((await read(server, known)).status, 200);
    controlPlane.apiServer.kill('SIGSTOP');
    try {
      assert.equal((await read(server, known)).status, 200);
      assert.equal((await read(server, unknown)).status, 503);
    } finally {
      controlPlane.apiServer.kill('SIGCONT');
    }
  });
});
