// One query API over two clusters, each with its own API server and its own database: what plain kubectl sees from the first.
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { buildProgram } from '../../hack/build/program.ts';
import { type Bundle, startBundle } from '../../hack/local/bundle.ts';
import { kubeconfigText } from '../../hack/local/kubeconfig.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { commandsOf } from '../support/docs-page.ts';
import { eventually } from '../support/eventually.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';

const NS = 'ml';
const NAMESPACE = 'ingester-system';
const MODELS = 'models.stored.michelangelo.api';
const PATH = '/apis/stored.michelangelo.api/v2';
const model = kind('Model');
const alice = ['--as=alice', '--as-group=oidc:scientists'] as const;

describe('a query API for two clusters', () => {
  let [first, second]: Bundle[] = [];
  let [own, east]: Cluster[] = [];
  let server: QueryServer | undefined;
  const cluster = (one: Cluster | undefined): Cluster => one ?? assert.fail('not started');
  const bundle = (one: Bundle | undefined): Bundle => one ?? assert.fail('not started');
  const asAlice = (...args: readonly string[]) => cluster(own).tryKubectl(...args, ...alice);
  const models = (...args: readonly string[]) => asAlice('get', MODELS, '-n', NS, ...args);
  const of = (name: string) => ['--field-selector', `cluster=${name}`] as const;
  const grant = (to: Cluster, ...subject: readonly string[]) =>
    to.kubectl(
      'create',
      'rolebinding',
      `readers-${subject.join('').replace(/\W/g, '-')}`,
      '-n',
      NS,
      '--clusterrole=admin-of-models',
      ...subject,
    );

  /** As an operator makes it: the rights of the component in the other cluster, and a token of its service account. */
  async function access() {
    const other = bundle(second);
    await other.kubectl('apply', '-f', join(import.meta.dirname, '../../config/components/query/rbac.yaml'));
    const token = (await other.kubectl('create', 'token', 'ingester-query', '-n', NAMESPACE)).trim();
    const file = join(other.directory, 'for-the-first.kubeconfig');
    const { url, caPem } = other.controlPlane;
    writeFileSync(file, kubeconfigText({ url, caPem, user: { name: 'ingester-query', token } }), { mode: 0o600 });
    const passwordFile = join(other.directory, 'password-for-the-first');
    const { user, password } = other.database.writer;
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
    const { host, port } = other.server;
    return { kubeconfig: file, mysql: { host, port, user, passwordFile, database: other.database.name } };
  }

  before(async () => {
    [first, second] = [await startBundle(), await startBundle()];
    [own, east] = [new Cluster(first), new Cluster(second)];
    for (const each of [own, east]) {
      await each.namespace(NS);
      await each.apply({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'admin-of-models' },
        rules: [{ apiGroups: ['michelangelo.api'], resources: ['*'], verbs: ['*'] }],
      });
      await grant(each, '--group=oidc:scientists');
      await each.apply(aManifest('Model', NS, 'kept'));
    }
    await own.apply(aManifest('Model', NS, 'west'));
    await east.apply(aManifest('Model', NS, 'east'));
    for (const each of [own, east]) await eventually(async () => assert.equal((await each.rows(model, NS)).length, 2));
    const { kubeconfig, mysql } = await access();
    const clusters = [
      { name: 'eu-1', kubeconfig, mysql },
      { name: 'archive', kubeconfig: '', mysql },
    ];
    server = await startQueryServer(first, { query: { clusters } });
    await own.kubectl('wait', '--for=condition=Available', '--timeout=60s', 'apiservice/v2.stored.michelangelo.api');
  });
  after(async () => {
    await server?.stop();
    await second?.stop();
    await first?.stop();
  });

  it('answers for the cluster that it runs in, unless kubectl names another by the field cluster', async () => {
    const here = await models('-o', 'name');
    assert.deepEqual(here.stdout.match(/[^/\s]+$/gm)?.toSorted(), ['kept', 'west'], here.stderr);
    const there = await models('-o', 'name', ...of('eu-1'));
    assert.deepEqual(there.stdout.match(/[^/\s]+$/gm)?.toSorted(), ['east', 'kept'], there.stderr);
    const { stdout } = await models('-o', 'yaml', ...of('eu-1,metadata.name=kept'));
    const { metadata } = (await cluster(east).get(model, NS, 'kept')) ?? assert.fail('no object');
    assert.match(stdout, new RegExp(`uid: ${metadata.uid}`));
    assert.match(stdout, /stored\.michelangelo\.api\/cluster: eu-1/);
  });

  it('lists every cluster in one table, whatever the size of the pages of kubectl', async () => {
    for (const size of ['0', '1', '3']) {
      const { stdout, stderr } = await models(...of('*'), `--chunk-size=${size}`);
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/\s+/).slice(0, 2).join(' '));
      assert.equal(lines[0], 'CLUSTER NAME', stderr);
      const found = lines.slice(1).filter((line) => !line.startsWith('archive'));
      assert.deepEqual(
        found.toSorted(),
        ['eu-1 east', 'eu-1 kept', 'in-cluster kept', 'in-cluster west'],
        `--chunk-size=${size}`,
      );
    }
  });

  it('does what docs/query.md shows, with kubectl and with the plugin', async () => {
    const directory = join(bundle(first).directory, 'shell');
    const program = join(directory, 'program');
    await buildProgram(program, undefined);
    const bin = join(program, 'bin');
    symlinkSync(bundle(first).controlPlane.kubectl, join(bin, 'kubectl'));
    const path = [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(':');
    const env = { PATH: path, KUBECONFIG: bundle(first).controlPlane.kubeconfig, HOME: directory };
    const commands = commandsOf('query.md', 'Many clusters').trim().split('\n');
    assert.equal(commands.length, 3);
    const [named = '', every = '', described = ''] = commands.map((command) => `${command} ${alice.join(' ')}`);
    const sh = async (command: string) => (await runCommand('bash', ['-c', command], { env })).stdout;
    assert.match(await sh(named), /^kept /m);
    // Nothing is evicted in any.
    assert.equal(await sh(every), '');
    const { metadata } = (await cluster(east).get(model, NS, 'kept')) ?? assert.fail('no object');
    assert.match(await sh(described), new RegExp(metadata.uid));
    assert.match(await sh(`kubectl ingester get models -n ml --of-cluster='*' ${alice.join(' ')}`), /^CLUSTER +NAME/);
  });

  it('follows a watch of another cluster', async () => {
    const watching = asAlice(
      ...[
        'get',
        MODELS,
        '-n',
        NS,
        ...of('eu-1'),
        '--watch-only',
        '-o',
        'jsonpath={.metadata.name}{"\\n"}',
        '--request-timeout=20s',
      ],
    );
    const changes = setInterval(
      () => void cluster(east).patch(model, NS, 'east', { metadata: { labels: { at: String(Date.now()) } } }),
      2000,
    );
    try {
      const { stdout } = await watching;
      assert.match(stdout, /^east$/m);
      assert.doesNotMatch(stdout, /west/);
    } finally {
      clearInterval(changes);
    }
  });

  it('asks the rights of the cluster that an object lives in: bob has some here and none there', async () => {
    await grant(cluster(own), '--user=bob');
    const bob = (...args: readonly string[]) => cluster(own).tryKubectl('get', MODELS, '-n', NS, ...args, '--as=bob');
    assert.equal((await bob()).code, 0);
    const refused = await bob(...of('eu-1'));
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Forbidden/);
    assert.equal(refused.stdout, '');
    const all = await bob(...of('*'));
    assert.equal(all.code, 0, all.stderr);
    assert.match(all.stderr, /Warning: cluster eu-1 is left out: you may not list models there/);
    assert.doesNotMatch(all.stdout, /^eu-1 /m);
  });

  it('gives a service account nothing of another cluster, even if one of the same name has rights there', async () => {
    for (const each of [own, east]) {
      await cluster(each).kubectl('create', 'serviceaccount', 'builder', '-n', NS);
      await grant(cluster(each), `--serviceaccount=${NS}:builder`);
    }
    const builder = (...args: readonly string[]) =>
      cluster(own).tryKubectl('get', MODELS, '-n', NS, ...args, `--as=system:serviceaccount:${NS}:builder`);
    assert.equal((await builder()).code, 0);
    const refused = await builder(...of('eu-1'));
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /is one of this cluster alone/);
  });

  it('gives a member of system:masters of this cluster no more of another one than the user has there', async () => {
    const refused = await cluster(own).tryKubectl(
      'get',
      MODELS,
      '-n',
      NS,
      ...of('eu-1'),
      '--as=carol',
      '--as-group=system:masters',
    );
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Forbidden/);
  });

  it('restores an object into the cluster that it was deleted in', async () => {
    await cluster(east).kubectl('delete', 'models.michelangelo.api', '-n', NS, 'east');
    await cluster(east).gone(model, NS, 'east');
    // The API server of the other cluster is written to by the service account, which got no such right yet.
    const path = `${PATH}/namespaces/${NS}/models/east/restore?cluster=eu-1`;
    const refused = await asAlice('create', '--raw', path, '-f', '/dev/null');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /the cluster refused it/);
    await cluster(east).kubectl('apply', '-f', join(import.meta.dirname, '../../config/components/query/writes.yaml'));
    await eventually(async () => {
      const done = await asAlice('create', '--raw', path, '-f', '/dev/null');
      assert.equal(done.code, 0, done.stderr);
    });
    assert.notEqual(await cluster(east).get(model, NS, 'east'), undefined);
    assert.equal(await cluster(own).get(model, NS, 'east'), undefined);
  });

  it('refuses a database that belongs to another cluster than the one that is asked for rights', async () => {
    const { kubeconfig } = await access();
    const { host, port } = bundle(first).server;
    const passwordFile = join(bundle(first).directory, 'password');
    const { user, password } = bundle(first).database.writer;
    writeFileSync(passwordFile, password, { mode: 0o600 });
    const mysql = { host, port, user, passwordFile, database: bundle(first).database.name };
    const mistaken = { name: 'mistaken', kubeconfig, mysql };
    const other = await startQueryServer(bundle(second), { query: { clusters: [mistaken] } });
    try {
      const available = ['--for=condition=Available', '--timeout=60s', 'apiservice/v2.stored.michelangelo.api'];
      await cluster(east).kubectl('wait', ...available);
      const asked = ['get', MODELS, '-n', NS, ...of('mistaken'), ...alice] as const;
      const { code, stdout, stderr } = await cluster(east).tryKubectl(...asked);
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, /cluster "mistaken": .*belongs to the cluster/);
    } finally {
      await other.stop();
    }
  });

  it('names the cluster whose API server is away, and answers for the others and for a retired one', async () => {
    await bundle(second).reconciler.stop();
    await bundle(second).controlPlane.stop();
    await eventually(async () => {
      const { code, stdout, stderr } = await models(...of('eu-1'), '--request-timeout=15s');
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, /cluster "eu-1": the API server does not answer/);
    });
    const every = await models(...of('*'), '--request-timeout=15s');
    assert.equal(every.code, 1, 'less would look like all');
    assert.match(every.stderr, /cluster "eu-1"/);
    assert.equal((await models()).code, 0);
    const archived = await models('-o', 'name', ...of('archive'));
    assert.deepEqual(archived.stdout.match(/[^/\s]+$/gm)?.toSorted(), ['east', 'kept'], archived.stderr);
    const path = `${PATH}/namespaces/${NS}/models/kept?cluster=archive`;
    const written = await asAlice('delete', '--raw', path);
    assert.equal(written.code, 1);
    assert.match(written.stderr, /the cluster is retired: nothing is written there/);
  });
});
