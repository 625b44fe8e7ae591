// The Ingester resource on real servers: its Deployments and Jobs run as processes, its tasks change a real database.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { IngesterStatus } from '../../src/api/ingester/status.ts';
import { CANARY_BEAT_ANNOTATION, CANARY_LABEL } from '../../src/api/names.ts';
import { eventually } from '../support/eventually.ts';
import { anIngester, aSpec, INGESTER, type LifecycleCluster, SYSTEM, useLifecycle } from '../support/use-lifecycle.ts';

interface Canary {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: IngesterStatus;
}

/** What one request to query is answered with, through the Service. */
async function ask(
  cluster: LifecycleCluster,
  token: string,
): Promise<{ status: number; retryAfter: string | undefined }> {
  const { host, port } = cluster.bundle.network.resolve(`ingester-query.${SYSTEM}.svc`, 443);
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const path = '/apis/stored.michelangelo.api/v2/models?limit=1';
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, path, headers, agent: false, rejectUnauthorized: false }, (response) => {
      response.resume();
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] }),
      );
    });
    sent.once('error', reject);
    sent.end();
  });
}

describe('an Ingester resource', () => {
  const use = useLifecycle();
  const tasks = { ...aSpec.lifecycle, init: { disabled: true } };
  before(async () => {
    const cluster = use();
    await cluster.apply({ ...aSpec, lifecycle: tasks });
    const metadata = { namespace: SYSTEM, name: 'canary', labels: { [CANARY_LABEL]: 'true' } };
    const canary = { ...anIngester({ version: '1.0.0', database: { credentialsSecret: 'none' } }), metadata };
    await cluster.bundle.controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(canary) });
  });

  it('installs: migrates an empty database first, then runs the components', async () => {
    const cluster = use();
    const status = await cluster.settled('1.0.0');
    assert.equal(status.migratedVersion, '1.0.0');
    assert.equal(status.ready, '2/2');
    const line = await cluster.kubectl('get', 'ingester');
    assert.match(line, /1\.0\.0\s+Running\s+Complete\s+2\/2\s+True/);
  });

  it('explains that all is well, what another manifest would lead to, and who decides', async () => {
    const cluster = use();
    const explained = await cluster.plugin('explain', INGESTER, '-n', SYSTEM);
    assert.match(explained, /ingester is Running \(Complete\), bringing about 1\.0\.0/);
    assert.match(explained, /Waits for: {2}nothing\nUsers: {6}Serving: 1 pods serve\nWay back: {3}not needed/);
    const upgrade = await cluster.dryRun({ ...aSpec, version: '1.1.0', lifecycle: tasks });
    assert.match(
      upgrade,
      /With that manifest:\n {2}version \(upgrade\)\n {2}tasks: quiesce, migrate\n {2}all components are removed/,
    );
    const scaled = { ...aSpec, components: { ...aSpec.components, sync: { replicas: 2 } }, lifecycle: tasks };
    assert.match(
      await cluster.dryRun(scaled),
      /sync\.replicas \(scale\)\n {2}no task runs\n {2}the components go on running/,
    );
    const wrong = { ...aSpec, config: { mysql: {} }, lifecycle: tasks };
    assert.match(await cluster.dryRun(wrong), /not valid: spec\.config\.mysql: the lifecycle controller sets/);
    assert.equal((await cluster.status()).target?.spec.version, '1.0.0');
    // The exit code says that a part does not work: there is no webhook here.
    await eventually(async () => {
      const { stdout } = await cluster.tryPlugin('status');
      assert.match(stdout, /The Ingester resource ingester decides on kinds.*\(Running, version 1\.0\.0\)/);
    });
  });

  it('is refused by the rules of its schema, webhook or not, where it contradicts itself', async () => {
    const cluster = use();
    const refusals: string[] = [];
    const restore = { snapshot: 's', nonce: 'n', replaceDataOf: 'd' };
    const snapshots = { database: 'd' };
    for (const lifecycle of [
      { clone: { sourceSecret: 's' } },
      { stateMode: 'Savepoint' },
      { restore },
      { restore, snapshots, init: { disabled: true } },
    ]) {
      const patch = JSON.stringify({ spec: { lifecycle: { init: null, ...lifecycle } } });
      const command = ['patch', 'ingester', INGESTER, '--dry-run=server', '--type=merge', '-p', patch];
      refusals.push((await cluster.tryKubectl(...command)).stderr);
    }
    const [clone, savepoint, place, init] = refusals;
    assert.match(clone ?? '', /lifecycle\.clone overwrites the database; it needs environment/);
    assert.match(savepoint ?? '', /stateMode Savepoint needs snapshots\.database/);
    assert.match(place ?? '', /restore needs snapshots\.database/);
    assert.match(init ?? '', /restore needs the tasks migrate, .* and init/);
  });

  it('that breaks a rule of a later release keeps its status written, and is refused only what the rule is about', async () => {
    const cluster = use();
    const crd = (operation: object): Promise<string> => {
      const at = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/version/x-kubernetes-validations';
      const patch = JSON.stringify([{ path: at, ...operation }]);
      return cluster.kubectl('patch', 'crd', 'ingesters.ingester.michelangelo.api', '--type=json', '-p', patch);
    };
    const { version: known } = await cluster.status();
    await crd({ op: 'add', value: [{ rule: 'self != "1.0.0" && self != "1.0.1"', message: 'no longer supported' }] });
    try {
      await eventually(async () => {
        const change = ['patch', 'ingester', INGESTER, '--dry-run=server', '--type=merge', '-p'] as const;
        const { stderr } = await cluster.tryKubectl(...change, '{"spec":{"version":"1.0.1"}}');
        assert.match(stderr, /spec\.version: .*no longer supported/);
      });
      assert.equal(known, '1.0.0');
      await cluster.kubectl('delete', 'pod', '-l', 'app.kubernetes.io/component=sync', '--wait=false');
      await cluster.until('with a pod less', ({ ready }) => ready === '1/2');
      await cluster.patch({ forceReload: 'under the rule' });
      await cluster.settled('1.0.0');
    } finally {
      await crd({ op: 'remove' });
    }
  });

  it('upgrades behind the maintenance page: a client sees 200 or 503 with Retry-After, and nothing else', async () => {
    const cluster = use();
    const token = (await cluster.kubectl('create', 'token', 'ingester-reconciler')).trim();
    await eventually(async () => assert.equal((await ask(cluster, token)).status, 200));
    const seen = new Set<string>();
    const polling = { on: true };
    const client = (async () => {
      while (polling.on) {
        const { status, retryAfter } = await ask(cluster, token).catch((error: unknown) => ({
          status: 0,
          retryAfter: String(error),
        }));
        seen.add(status === 200 ? '200' : `${status} ${retryAfter ?? 'at once'}`);
        await delay(20);
      }
    })();
    await cluster.patch({ version: '1.1.0' });
    const status = await cluster.settled('1.1.0');
    polling.on = false;
    await client;
    assert.deepEqual([...seen].sort(), ['200', '503 1']);
    assert.equal(status.migratedVersion, '1.1.0');
    assert.equal(status.lifecycle?.gateHeld, false);
    const [gate] = await cluster.bundle.database.query('SELECT closed_by FROM ingester_gate');
    assert.deepEqual(gate, { closed_by: null });
  });

  it('blocks a downgrade that got past the webhook, and goes on serving', async () => {
    const cluster = use();
    const refused = await cluster.tryKubectl(
      'patch',
      'ingester',
      INGESTER,
      '--type=merge',
      '-p',
      '{"spec":{"version":"1.0.0"}}',
    );
    assert.match(refused.stderr, /older than the migrated/);
    await cluster.kubectl('delete', 'validatingwebhookconfiguration', 'ingester-rules');
    const blocked = (way: string): Promise<IngesterStatus> =>
      cluster.until(`blocked on ${way}`, ({ phase, conditions = [] }) => {
        return phase === 'Blocked' && conditions.some(({ message }) => message.includes(way));
      });
    // What has no order is no way down either.
    await cluster.patch({ version: 'nightly' });
    await blocked('1.1.0:nightly');
    await cluster.patch({ version: '1.0.0' });
    const status = await blocked('1.1.0:1.0.0');
    const condition = (type: string): unknown => status.conditions?.find((each) => each.type === type)?.status;
    assert.deepEqual([condition('Available'), condition('LifecycleComplete')], ['True', 'False']);
    const explained = await cluster.plugin('explain', INGESTER);
    assert.match(explained, /ingester is Blocked \(Blocked\), bringing about 1\.1\.0/);
    assert.match(explained, /Waits for: {2}DowngradeBlocked: .*allow-downgrade=1\.1\.0:1\.0\.0/);
    assert.match(explained, /Users: {6}Serving/);
    // What runs goes on being repaired.
    await cluster.kubectl('delete', 'deployment', 'ingester-sync');
    await eventually(() => cluster.read('deployments', 'ingester-sync'));
    await cluster.patch({ version: '1.1.0' });
    await cluster.settled('1.1.0');
  });

  it('keeps a failed migration, with the reason of its container, until it is mended', async () => {
    const cluster = use();
    const broken = { command: ['sh', '-c', 'echo no room on the disk; exit 1'], maxAttempts: 1, trigger: 'a' };
    await cluster.patch({ lifecycle: { migrate: broken } });
    const status = await cluster.inPhase('Failed');
    assert.match(status.lifecycle?.steps.migrate?.message ?? '', /no room on the disk/);
    const explained = await cluster.plugin('explain', INGESTER);
    assert.match(
      explained,
      /Waits for: {2}TaskFailed: migrate: no room on the disk\. Correct the cause, then change spec/,
    );
    assert.match(explained, /Way back: {3}not possible: a task that changes the database has begun/);
    assert.match(explained, /To be done: migrate, release/);
    await cluster.patch({ lifecycle: { migrate: { command: null, trigger: 'b' } } });
    await cluster.settled('1.1.0');
  });

  it('removes a component in the edit of an upgrade, and finishes the upgrade', async () => {
    const cluster = use();
    await cluster.patch({ version: '1.3.0', components: { query: null } });
    const status = await cluster.settled('1.3.0');
    assert.equal(status.ready, '1/1');
    assert.match((await cluster.tryKubectl('get', 'deployment', 'ingester-query')).stderr, /NotFound/);
  });

  it('has a canary beside it that runs nothing, and is touched and seen again and again', async () => {
    const cluster = use();
    await eventually(async () => {
      const { metadata, status } = await cluster.read<Canary>('ingesters', 'canary');
      assert.notEqual(metadata.annotations?.[CANARY_BEAT_ANNOTATION], undefined);
      assert.equal(status?.phase, 'Running');
    }, 60_000);
    assert.equal(
      await cluster.kubectl('get', 'deployment,job', '-l', 'michelangelo/ingester=canary', '-o', 'name'),
      '',
    );
  });

  it('leaves nothing behind when it is deleted', async () => {
    const cluster = use();
    await cluster.kubectl('delete', 'ingester', INGESTER, '--wait=true', '--timeout=60s');
    await eventually(async () => {
      for (const kind of ['deployments', 'jobs', 'services', 'configmaps'] as const)
        assert.deepEqual(await cluster.names(kind, `michelangelo/ingester=${INGESTER}`), []);
    }, 60_000);
  });
});
