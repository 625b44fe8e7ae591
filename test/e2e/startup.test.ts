// What an operator sees who starts the program with something missing or wrong. Every case has a message of its own.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { createAuthority } from '../../hack/local/certificates.ts';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { freePort } from '../../hack/local/free-port.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { programFile } from '../../hack/local/program.ts';
import { probe } from '../../hack/local/role-process.ts';
import { eventually } from '../support/eventually.ts';

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

interface Run {
  readonly child: ChildProcess;
  output(): string;
  readonly exit: Promise<number | null>;
}

function ingester(args: readonly string[], env: Readonly<Record<string, string>>): Run {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [programFile('main'), ...args], {
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exit = once(child, 'exit').then(([code]: unknown[]) => {
    running.delete(child);
    return code as number | null;
  });
  return { child, output: () => output, exit };
}

describe('starting the program', () => {
  let server: DatabaseServer;
  let database: BundleDatabase;
  let controlPlane: ControlPlane;
  const directory = mkdtempSync(join(tmpdir(), 'startup-'));
  before(async () => {
    const [authority, other] = await Promise.all([createAuthority('mysql-ca'), createAuthority('other-ca')]);
    writeFileSync(join(directory, 'mysql-ca.pem'), authority.caPem);
    writeFileSync(join(directory, 'other-ca.pem'), other.caPem);
    [server, controlPlane] = await Promise.all([startDatabase({ authority }), startControlPlane()]);
    database = await createBundleDatabase(server);
  });
  after(async () => {
    await server.dispose();
    await controlPlane.stop();
    rmSync(directory, { recursive: true });
  });

  const environment = async (changes: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> => ({
    INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true',
    INGESTER_MYSQL_HOST: server.host,
    INGESTER_MYSQL_PORT: String(server.port),
    INGESTER_MYSQL_USER: database.migrator.user,
    INGESTER_MYSQL_PASSWORD: database.migrator.password,
    INGESTER_MYSQL_DATABASE: database.name,
    INGESTER_INGESTER_REQUEUE_PERIOD: '500ms',
    INGESTER_KUBERNETES_KUBECONFIG: controlPlane.kubeconfig,
    INGESTER_HEALTH_BIND_ADDRESS: `127.0.0.1:${await freePort()}`,
    ...changes,
  });
  /** Settings that trust this authority for MySQL; the certificate of the server names localhost. */
  const verifiedBy = (caFile: string): Readonly<Record<string, string>> => ({
    INGESTER_MYSQL_HOST: 'localhost',
    INGESTER_MYSQL_TLS_MODE: 'verify',
    INGESTER_MYSQL_TLS_CA_FILE: join(directory, caFile),
  });
  const healthOf = (env: Readonly<Record<string, string>>, path: string) =>
    probe(Number(env['INGESTER_HEALTH_BIND_ADDRESS']?.split(':')[1]), path);

  it('stays idle, healthy and ready without metadata storage, and says how to switch it on', async () => {
    const env = { INGESTER_HEALTH_BIND_ADDRESS: `127.0.0.1:${await freePort()}` };
    const run = ingester(['reconciler'], env);
    await eventually(async () => assert.equal((await healthOf(env, '/readyz')).status, 200));
    assert.match(run.output(), /Metadata storage not configured.*enableMetadataStorage/);
    run.child.kill('SIGTERM');
    assert.equal(await run.exit, 0);
  });

  it('refuses an enabled storage with an empty mysql section, naming the keys, with exit code 2', async () => {
    const run = ingester(['reconciler'], { INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true' });
    assert.equal(await run.exit, 2);
    assert.match(run.output(), /mysql\.host.*mysql\.user.*mysql\.database/s);
  });

  it('refuses an unknown kind and every other mistake at once, with exit code 2', async () => {
    const file = join(directory, 'bad.yaml');
    writeFileSync(file, 'ingester: {kinds: [Modle]}\nmysql: {prot: 1}\n');
    const run = ingester(['--config', file, 'reconciler'], {});
    assert.equal(await run.exit, 2);
    assert.match(run.output(), /ingester\.kinds\.0: unknown kind "Modle"; known kinds: Project/);
    assert.match(run.output(), /mysql\.prot: unknown key/);
  });

  it('reports that the schema is missing and which command creates it, waits, and starts when the schema is there', async () => {
    await controlPlane.kubectlRun(['apply', '-k', 'crds']);
    const env = await environment();
    const run = ingester(['reconciler'], env);
    await eventually(() => assert.match(run.output(), /STORAGE_SCHEMA_MISSING.*ingester task migrate/));
    assert.equal((await healthOf(env, '/readyz')).status, 503);
    const migration = ingester(['task', 'migrate', '-o', 'json'], env);
    assert.equal(await migration.exit, 0);
    // Progress goes to stderr, the report to stdout as one line.
    const report = /^\{.*\}$/m.exec(migration.output())?.[0] ?? '';
    assert.deepEqual((JSON.parse(report) as { applied: unknown }).applied, ['0001-tables', '0002-clusters']);
    await eventually(async () => assert.equal((await healthOf(env, '/readyz')).status, 200));
    run.child.kill('SIGTERM');
    assert.equal(await run.exit, 0);
    const again = ingester(['task', 'migrate'], { ...env, ...verifiedBy('mysql-ca.pem') });
    assert.equal(await again.exit, 0);
    assert.match(again.output(), /up to date/);
    assert.doesNotMatch(`${run.output()}${migration.output()}${again.output()}`, /clear text/);
  });

  const storageFaults: readonly { name: string; changes: Readonly<Record<string, string>>; message: RegExp }[] = [
    {
      name: 'a wrong password',
      changes: { INGESTER_MYSQL_PASSWORD: 'wr0ng' },
      message: /STORAGE_ACCESS_DENIED.*Check mysql\.user and mysql\.password/,
    },
    {
      name: 'a database without rights on it',
      changes: { INGESTER_MYSQL_DATABASE: 'elsewhere' },
      message: /STORAGE_ACCESS_DENIED/,
    },
    {
      name: 'a server whose certificate is not of the authority that is trusted',
      changes: verifiedBy('other-ca.pem'),
      message: /STORAGE_UNAVAILABLE.*self-signed certificate/,
    },
    {
      name: 'a server that is not there',
      changes: { INGESTER_MYSQL_PORT: '1' },
      message: /STORAGE_UNAVAILABLE.*ECONNREFUSED/,
    },
  ];
  for (const { name, changes, message } of storageFaults) {
    it(`waits at ${name} and says what to do, without the password`, async () => {
      const env = await environment(changes);
      const run = ingester(['reconciler'], env);
      await eventually(() => assert.match(run.output(), message));
      assert.equal((await healthOf(env, '/readyz')).status, 503);
      assert.equal((await healthOf(env, '/healthz')).status, 200);
      assert.doesNotMatch(run.output(), /wr0ng/);
      run.child.kill('SIGTERM');
      assert.equal(await run.exit, 0);
    });
  }

  it('migrates nothing over a connection that proves nothing, with exit code 1', async () => {
    const run = ingester(['task', 'migrate'], await environment(verifiedBy('other-ca.pem')));
    assert.equal(await run.exit, 1);
    assert.match(run.output(), /self-signed certificate/);
  });

  it('refuses to verify by an authority whose file is missing, with exit code 2', async () => {
    const run = ingester(['reconciler'], await environment(verifiedBy('missing.pem')));
    assert.equal(await run.exit, 2);
    assert.match(run.output(), /mysql\.tlsCaFile: cannot be read/);
  });

  it('warns of passwords in clear text where MySQL is on another machine and not verified', async () => {
    const run = ingester(['reconciler'], await environment({ INGESTER_MYSQL_HOST: 'mysql.invalid' }));
    await eventually(() => assert.match(run.output(), /"level":"warn".*"mysql\.invalid".*clear text.*mysql\.tlsMode/));
    run.child.kill('SIGTERM');
    assert.equal(await run.exit, 0);
  });

  it('tells a database that does not exist from one it may not use', async () => {
    const run = ingester(
      ['task', 'migrate'],
      await environment({
        INGESTER_MYSQL_DATABASE: 'nowhere',
        INGESTER_MYSQL_USER: server.rootUser,
        INGESTER_MYSQL_PASSWORD: server.rootPassword,
      }),
    );
    assert.equal(await run.exit, 1);
    assert.match(run.output(), /"nowhere" does not exist.*CREATE DATABASE.*STORAGE_DATABASE_MISSING/);
  });

  it('waits for CRDs that are not installed, naming each, and starts when they appear', async () => {
    const bare = await startControlPlane({ minimal: true });
    try {
      // The database of the other tests may belong to their cluster by now.
      const { name, migrator } = await createBundleDatabase(server);
      const env = await environment({
        INGESTER_KUBERNETES_KUBECONFIG: bare.kubeconfig,
        INGESTER_MYSQL_USER: migrator.user,
        INGESTER_MYSQL_PASSWORD: migrator.password,
        INGESTER_MYSQL_DATABASE: name,
      });
      assert.equal(await ingester(['task', 'migrate'], env).exit, 0);
      const run = ingester(['reconciler'], env);
      await eventually(() => assert.match(run.output(), /CRD modelfamilys\.michelangelo\.api is not installed/));
      assert.match((await healthOf(env, '/readyz')).body, /\[-\] watch-models: the CRD is not installed/);
      await bare.kubectlRun(['apply', '-k', 'crds']);
      await eventually(async () => {
        const { status, body } = await healthOf(env, '/readyz');
        assert.equal(status, 200, body);
      });
      run.child.kill('SIGTERM');
      assert.equal(await run.exit, 0);
    } finally {
      await bare.stop();
    }
  });

  it('keeps trying while the API server is away', async () => {
    const kubeconfig = join(directory, 'nowhere.kubeconfig');
    const cluster = { name: 'c', cluster: { server: 'https://127.0.0.1:1' } };
    const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }];
    const users = [{ name: 'u', user: { token: 't0ken' } }];
    const config = { apiVersion: 'v1', kind: 'Config', clusters: [cluster], users, contexts, 'current-context': 'x' };
    writeFileSync(kubeconfig, JSON.stringify(config));
    const run = ingester(['reconciler'], await environment({ INGESTER_KUBERNETES_KUBECONFIG: kubeconfig }));
    await eventually(() => assert.match(run.output(), /KUBE_UNAVAILABLE.*ECONNREFUSED/));
    assert.doesNotMatch(run.output(), /t0ken/);
    run.child.kill('SIGTERM');
    assert.equal(await run.exit, 0);
  });

  it('refuses to start without a usable kubeconfig and says what to set', async () => {
    const run = ingester(['reconciler'], await environment({ INGESTER_KUBERNETES_KUBECONFIG: '/does/not/exist' }));
    assert.equal(await run.exit, 1);
    assert.match(run.output(), /kubernetes\.kubeconfig.*KUBECONFIG_INVALID/);
  });

  it('refuses to serve admission with a missing certificate, or a certificate that does not match its key', async () => {
    const authority = await createAuthority('ca');
    const [one, other] = await Promise.all(
      ['one', 'other'].map((name) => authority.issue({ commonName: name, hosts: ['127.0.0.1'] })),
    );
    const certDir = join(directory, 'tls');
    mkdirSync(certDir);
    const start = () => ingester(['webhook'], { INGESTER_SERVER_CERT_DIR: certDir });
    const missing = start();
    assert.equal(await missing.exit, 1);
    assert.match(missing.output(), /tls\.crt.*server\.certDir.*CERTIFICATE_INVALID/);
    writeFileSync(join(certDir, 'tls.crt'), one?.certificatePem ?? '');
    writeFileSync(join(certDir, 'tls.key'), other?.keyPem ?? '');
    const mismatch = start();
    assert.equal(await mismatch.exit, 1);
    assert.match(mismatch.output(), /do not belong together.*CERTIFICATE_INVALID/);
  });

  it('explains itself with --help, and refuses unknown commands with exit code 2', async () => {
    const help = ingester(['--help'], {});
    assert.equal(await help.exit, 0);
    assert.match(help.output(), /reconciler.*INGESTER_MYSQL_HOST.*Exit codes/s);
    const unknown = ingester(['bogus'], {});
    assert.equal(await unknown.exit, 2);
  });
});
