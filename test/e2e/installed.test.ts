// The installed bundle: the shipped manifests with webhook and reconciler as pods. Runs on process nodes, and unchanged
// on the cluster that E2E_KUBECONFIG names (hack/kind/test). The program is the built one, as in the image.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { writeReleaseManifests } from '../../hack/release/manifests.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { messageOf } from '../../src/base/errors.ts';
import { defaultKinds, kindsNamed } from '../../src/kinds/kinds.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { makeBuiltImage } from '../support/built-image.ts';
import { commandsOf } from '../support/docs-page.ts';
import { eventually } from '../support/eventually.ts';
import { makeNextVersion } from '../support/next-version.ts';
import { type Overlay, overlayOf } from '../support/overlay-of.ts';
import { type Manifest, manifestsOf } from '../support/renders.ts';
import { callsOf, describeCall, rightsOf, unusedRights, uses } from '../support/rights.ts';
import { type Call, underLoad } from '../support/under-load.ts';
import { type Installed, useInstalled } from '../support/use-installed.ts';

const system = 'ingester-system';
const namespace = 'installed';
const models = 'models.michelangelo.api';

/** Under the tables of a fresh database. */
const kinds = kindsNamed(
  defaultKinds.map(({ kind }) => kind),
  'snake_case',
);
const modelResource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
/** On an external cluster there is one image. */
const onTheirs = process.env['E2E_KUBECONFIG'] === undefined ? false : 'needs a second image';
/** Policies of the API server take the place of the webhook. */
const withPolicies = process.env['E2E_OVERLAY']?.endsWith('policies') === true;
const withoutWebhook = withPolicies ? 'needs the webhook' : false;
/** What suits the schema after the upgrade. */
const lastImage = `michelangelo-ingester:${onTheirs === false ? 'next' : 'dev'}`;
const next = makeNextVersion();
const built = await makeBuiltImage('installed');

function aModel(name: string, spec: object = {}): object {
  return { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { namespace, name }, spec };
}

async function rowOf(bundle: Installed, name: string): Promise<Readonly<Record<string, unknown>>> {
  const rows = await bundle.query('SELECT * FROM model WHERE namespace = ? AND name = ?', [namespace, name]);
  assert.equal(rows.length, 1, `rows of ${name}`);
  return rows[0] ?? {};
}

async function isGone(bundle: Installed, name: string): Promise<void> {
  const { code, stderr } = await bundle.tryKubectl('get', models, '-n', namespace, name);
  assert.equal(code, 1);
  assert.match(stderr, /NotFound/);
}

describe('the installed bundle', () => {
  const use = useInstalled([next.image, built.image]);
  let uninstallFolder: Overlay;
  /** The Secrets of the database, to install it again. */
  let accounts: readonly object[];
  const release = mkdtempSync(join(tmpdir(), 'release-'));
  after(() => {
    next.remove();
    built.remove();
    rmSync(release, { recursive: true });
    uninstallFolder.remove();
  });
  before(async () => {
    uninstallFolder = overlayOf(use().overlay, onTheirs === false ? 'next' : 'dev', ['uninstall-hook']);
    await use().apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const list = await use().kubectl(
      'get',
      'secrets',
      '-n',
      system,
      'ingester-mysql',
      'ingester-mysql-migrate',
      '-o',
      'json',
    );
    const { items } = JSON.parse(list) as { items: { metadata: { name: string }; data: object }[] };
    accounts = items.map(({ metadata: { name }, data }) => {
      return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: system }, data };
    });
  });

  it('has ready pods of its Deployments, and a schema that its Job made', async () => {
    const bundle = use();
    for (const name of [...(withPolicies ? [] : ['ingester-webhook']), 'ingester-reconciler']) {
      await bundle.kubectl('rollout', 'status', '-n', system, `deployment/${name}`, '--timeout=60s');
    }
    const tables = (await bundle.query('SHOW TABLES')).map((row) => Object.values(row)[0]);
    for (const { table } of kinds) assert.ok(tables.includes(table), table);
  });

  it('guards every sample, and copies it into its table', async () => {
    const bundle = use();
    await bundle.kubectl('apply', '-k', 'config/samples');
    for (const { plural, table } of kinds) {
      const list = await bundle.kubectl('get', `${plural}.michelangelo.api`, '-n', 'ingester-test', '-o', 'json');
      const { items } = JSON.parse(list) as { items: { metadata: { uid: string; finalizers?: string[] } }[] };
      assert.ok(items.length > 0, plural);
      for (const { metadata } of items) {
        assert.deepEqual(metadata.finalizers, [FINALIZER], plural);
        await eventually(async () => {
          const rows = await bundle.query(`SELECT delete_time FROM \`${table}\` WHERE uid = ?`, [metadata.uid]);
          assert.deepEqual(
            rows.map((row) => row['delete_time']),
            [null],
            plural,
          );
        });
      }
    }
  });

  it('follows changes and keeps the final state of deleted objects', async () => {
    const bundle = use();
    await bundle.apply(aModel('changes', { algorithm: 'one' }));
    await eventually(async () => assert.equal((await rowOf(bundle, 'changes'))['algorithm'], 'one'));
    await bundle.apply(aModel('changes', { algorithm: 'two' }));
    await eventually(async () => assert.equal((await rowOf(bundle, 'changes'))['algorithm'], 'two'));
    await bundle.kubectl('delete', models, '-n', namespace, 'changes', '--timeout=60s');
    const row = await rowOf(bundle, 'changes');
    assert.equal(row['algorithm'], 'two');
    assert.notEqual(row['delete_time'], null);
  });

  it('evicts immutable objects', async () => {
    const bundle = use();
    await bundle.apply(aModel('evicted'));
    await bundle.kubectl('annotate', models, '-n', namespace, 'evicted', 'michelangelo/Immutable=true');
    await eventually(() => isGone(bundle, 'evicted'));
    const row = await rowOf(bundle, 'evicted');
    assert.equal(row['delete_time'], null);
    assert.notEqual(row['evict_time'], null);
  });

  describe('under 100 creates a second', { skip: withoutWebhook }, () => {
    const webhook = ['-n', system, 'deployment/ingester-webhook'];
    const settled = () => use().kubectl('rollout', 'status', ...webhook, '--timeout=240s');
    const dryCreate: Call = async (index) => {
      try {
        const object = aModel(`load-${index}`);
        const created = await use().client.create(modelResource, namespace, object, { dryRun: true });
        return created.metadata.finalizers?.includes(FINALIZER) === true ? undefined : 'without finalizer';
      } catch (error) {
        return messageOf(error);
      }
    };
    const deleteReplica = async (...options: readonly string[]): Promise<void> => {
      // The newest is none of those that still end.
      const newest = ['--sort-by=.metadata.creationTimestamp', '-o', 'jsonpath={.items[-1:].metadata.name}'];
      const labelled = ['-l', 'app.kubernetes.io/component=webhook'];
      const pod = await use().kubectl('get', 'pods', '-n', system, ...labelled, ...newest);
      await use().kubectl('delete', 'pod', '-n', system, pod, '--timeout=240s', ...options);
      await settled();
    };

    it('takes every create while the webhook is rolled out anew and a replica is deleted', async () => {
      const failed = await underLoad(dryCreate, async () => {
        await use().kubectl('rollout', 'restart', ...webhook);
        await settled();
        await deleteReplica();
      });
      assert.deepEqual(failed, []);
    });

    it('refuses a create that a killed replica was asked about, and lets none through unguarded', async () => {
      const failed = await underLoad(dryCreate, () => deleteReplica('--force', '--grace-period=0'));
      for (const reason of failed) assert.match(reason, /failed calling webhook/);
    });
  });

  it('goes on when the reconciler that works is killed', async () => {
    const bundle = use();
    const holder = ['get', 'lease', '-n', system, 'ingester-reconciler', '-o', 'jsonpath={.spec.holderIdentity}'];
    const before = await bundle.kubectl(...holder);
    const pod = before.split('_')[0] ?? '';
    assert.match(pod, /^ingester-reconciler-/);
    await bundle.kubectl('delete', 'pod', '-n', system, pod, '--force', '--grace-period=0');
    await bundle.apply(aModel('after-kill'));
    await eventually(() => rowOf(bundle, 'after-kill'), 90_000);
    assert.notEqual(await bundle.kubectl(...holder), before);
  });

  it('reports what happens to objects in events, and counts repeats', async () => {
    const bundle = use();
    const annotate = (name: string, ...annotations: readonly string[]): Promise<string> =>
      bundle.kubectl('annotate', models, '-n', namespace, name, ...annotations);
    await bundle.apply(aModel('strange'));
    await annotate('strange', 'michelangelo/DeletePropagation=Sideways', 'michelangelo/Deleting=true');
    const series = 'jsonpath={.items[?(@.reason=="PropagationInvalid")].series.count}';
    await eventually(async () => {
      const count = await bundle.kubectl('get', 'events.v1.events.k8s.io', '-n', namespace, '-o', series);
      assert.ok(Number(count.split(' ')[0]) > 1, count);
    }, 90_000);
    await annotate('strange', '--overwrite', 'michelangelo/DeletePropagation=Background');
    await eventually(() => isGone(bundle, 'strange'));
  });

  it('is asked before a definition takes fields away', { skip: withoutWebhook }, async () => {
    const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/algorithm';
    const patch = JSON.stringify([{ op: 'remove', path }]);
    const asked = ['patch', 'crd', models, '--dry-run=server', '--type=json', '-p', patch];
    const { code, stderr } = await use().tryKubectl(...asked);
    assert.equal(code, 1);
    assert.match(stderr, /algorithm/);
  });

  it('ends the row of an object that left while no reconciler ran', async () => {
    const bundle = use();
    const scale = async (replicas: number): Promise<void> => {
      await bundle.kubectl('scale', '-n', system, 'deployment/ingester-reconciler', `--replicas=${replicas}`);
    };
    await bundle.apply(aModel('leaves'));
    await eventually(() => rowOf(bundle, 'leaves'));
    await scale(0);
    const gone = ['--for=delete', '-l', 'app.kubernetes.io/component=reconciler', '--timeout=120s'];
    await bundle.kubectl('wait', '-n', system, 'pod', ...gone);
    await bundle.kubectl('delete', models, '-n', namespace, 'leaves', '--wait=false');
    const unguarded = '{"metadata":{"finalizers":null}}';
    await bundle.kubectl('patch', models, '-n', namespace, 'leaves', '--type=merge', '-p', unguarded);
    await isGone(bundle, 'leaves');
    await scale(2);
    await eventually(async () => assert.notEqual((await rowOf(bundle, 'leaves'))['delete_time'], null), 120_000);
  });

  it('goes to a newer version, whose schema a revert does not suit, and loses nothing', {
    skip: onTheirs,
  }, async () => {
    const bundle = use();
    const overlay = overlayOf(bundle.overlay, 'next');
    const component = (name: string): readonly string[] => ['-n', system, '-l', `app.kubernetes.io/component=${name}`];
    const install = async (folder: string): Promise<void> => {
      await bundle.kubectl('delete', 'job', '-n', system, '--all');
      await bundle.kubectl('apply', '-k', folder);
    };
    const isStored = async (name: string): Promise<void> => {
      await bundle.apply(aModel(name));
      await eventually(() => rowOf(bundle, name));
    };
    try {
      await install(overlay.folder);
      await bundle.kubectl('wait', '-n', system, '--for=condition=Complete', '--timeout=120s', 'job/ingester-migrate');
      await rolledOut(bundle);
      const [gate] = await bundle.query('SELECT schema_version FROM ingester_gate');
      assert.equal(gate?.['schema_version'], next.schema);
      await isStored('upgraded');

      await install(bundle.overlay);
      await bundle.kubectl('wait', '-n', system, '--for=condition=Failed', '--timeout=120s', 'job/ingester-migrate');
      const codes = 'jsonpath={.items[*].status.containerStatuses[*].state.terminated.exitCode}';
      assert.equal(await bundle.kubectl('get', 'pods', ...component('migrate'), '-o', codes), '3');
      // The webhook has no schema; it is as old as its manifest.
      await bundle.kubectl('rollout', 'status', '-n', system, 'deployment/ingester-webhook', '--timeout=120s');
      await eventually(async () => {
        const shown =
          'jsonpath={range .items[*]}{.spec.containers[0].image} {.status.containerStatuses[0].ready}{"\\n"}{end}';
        const lines = (await bundle.kubectl('get', 'pods', ...component('reconciler'), '-o', shown)).trim().split('\n');
        assert.ok(
          lines.some((line) => !line.includes(':next')),
          'the older one has a pod',
        );
        for (const line of lines) assert.equal(line.endsWith('true'), line.includes(':next'), line);
      }, 60_000);
      await isStored('reverted');

      await install(overlay.folder);
      await bundle.kubectl('wait', '-n', system, '--for=condition=Complete', '--timeout=120s', 'job/ingester-migrate');
      await rolledOut(bundle);
      await isStored('upgraded-again');
    } finally {
      overlay.remove();
    }
  });

  it('is uninstalled by its Job and removed: no finalizer, no admission, and every row as it was', async () => {
    const bundle = use();
    const many = Number(process.env['E2E_OBJECTS'] ?? 500);
    const failures = await createMany(bundle.client, many);
    assert.deepEqual(failures, []);
    await eventually(async () => {
      const [row] = await bundle.query(
        "SELECT COUNT(*) AS n FROM model WHERE name LIKE 'many-%' AND delete_time IS NULL",
      );
      assert.equal(Number(row?.['n']), many);
    }, 300_000);
    const rows = (): Promise<unknown> =>
      bundle.query('SELECT uid, res_version, row_state, delete_time, evict_time FROM model ORDER BY uid');
    await bundle.kubectl('delete', 'job', '-n', system, '--all');
    await bundle.kubectl('apply', '-k', uninstallFolder.folder);
    await bundle.kubectl('wait', '-n', system, '--for=condition=Complete', '--timeout=300s', 'job/ingester-uninstall');
    // The uninstall changes every object once more, and the reconciler still stores that.
    await eventually(() => storedAsTheyAre(bundle), 120_000);
    const before = await rows();
    const labelled = ['-l', 'app.kubernetes.io/name=michelangelo-ingester', '-o', 'name'];
    const admission = 'mutatingwebhookconfigurations,validatingwebhookconfigurations';
    assert.equal(await bundle.kubectl('get', admission, ...labelled), '');
    const finalizers = await bundle.kubectl('get', models, '-A', '-o', 'jsonpath={.items[*].metadata.finalizers}');
    assert.doesNotMatch(finalizers, /michelangelo/);
    // Before the roles go: what still runs then is refused.
    checkRights(bundle, manifestsOf(await bundle.kubectl('kustomize', uninstallFolder.folder)));
    await bundle.kubectl('delete', '-k', uninstallFolder.folder, '--ignore-not-found', '--timeout=240s');
    // The definitions of Michelangelo are not of the bundle, and with them the objects stay.
    const definitions = await bundle.kubectl('get', 'crd', '-o', 'name');
    assert.doesNotMatch(definitions, /ingester\.michelangelo\.api/);
    assert.match(definitions, /models\.michelangelo\.api/);
    assert.deepEqual(await rows(), before);
  });

  it('is installed again, upgraded and removed by the commands of the docs, and makes its own certificate', async () => {
    const bundle = use();
    const documented = (page: string, section: string): Promise<void> =>
      bundle.shell(commandsOf(page, section).replaceAll(/\binstall\.yaml/g, 'install-no-cert-manager.yaml'), release);
    await writeReleaseManifests({ ...{ kubectl: bundle.kubectlPath, folder: release }, image: lastImage });
    const namespaces = [system, namespace].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
    await bundle.apply({ apiVersion: 'v1', kind: 'List', items: [...namespaces, ...accounts] });
    await documented('install.md', 'With kubectl');
    await bundle.apply(aModel('installed-again'));
    await eventually(() => rowOf(bundle, 'installed-again'));

    // A damaged certificate is made anew; what is served meanwhile stays trusted.
    const damaged = JSON.stringify({ data: { 'tls.crt': '' } });
    await bundle.kubectl('patch', 'secret', '-n', system, 'ingester-webhook-tls', '-p', damaged);
    await runNow(bundle, 'renew', 'issued');
    await bundle.apply(aModel('renewed'));
    await runNow(bundle, 'look', 'unchanged');

    await documented('upgrade.md', 'With kubectl');
    await bundle.apply(aModel('upgraded-by-docs'));
    await eventually(() => rowOf(bundle, 'upgraded-by-docs'));
    const rows = (): Promise<unknown> =>
      bundle.query('SELECT uid, row_state, delete_time, evict_time FROM model ORDER BY uid');
    const before = await rows();
    const manifests = ['install-no-cert-manager.yaml', 'uninstall.yaml'].map((file) =>
      readFileSync(join(release, file), 'utf8'),
    );
    await documented('uninstall.md', 'With kubectl');
    checkRights(bundle, manifests.flatMap(manifestsOf));
    const finalizers = await bundle.kubectl('get', models, '-A', '-o', 'jsonpath={.items[*].metadata.finalizers}');
    assert.doesNotMatch(finalizers, /michelangelo/);
    const left =
      'namespaces,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations';
    const labelled = ['-l', 'app.kubernetes.io/name=michelangelo-ingester', '-o', 'name'];
    assert.equal(await bundle.kubectl('get', `${left},validatingadmissionpolicies`, ...labelled), '');
    assert.deepEqual(await rows(), before);
    // With the definitions go the objects, and still no row.
    await bundle.kubectl('delete', '-f', join(release, 'install-crds.yaml'), '--timeout=120s');
    assert.deepEqual(await rows(), before);
  });
});

/** Every object of the cluster is in its row in the version that it has. */
async function storedAsTheyAre(bundle: Installed): Promise<void> {
  const list = await bundle.kubectl('get', models, '-A', '-o', 'json');
  const { items } = JSON.parse(list) as { items: { metadata: { uid: string; resourceVersion: string } }[] };
  const rows = await bundle.query('SELECT uid, res_version FROM model');
  const stored = new Map(rows.map(({ uid, res_version: version }) => [uid, String(version)]));
  for (const { metadata } of items) assert.equal(stored.get(metadata.uid), metadata.resourceVersion, metadata.uid);
}

/** Runs the CronJob of the certificate now. */
async function runNow(bundle: Installed, job: string, outcome: string): Promise<void> {
  await bundle.kubectl('create', 'job', '-n', system, job, '--from=cronjob/ingester-renew-certificates');
  await bundle.kubectl('wait', '-n', system, '--for=condition=Complete', '--timeout=120s', `job/${job}`);
  assert.match(await bundle.kubectl('logs', '-n', system, `job/${job}`), new RegExp(`"outcome":"${outcome}"`));
}

async function createMany(client: KubeClient, count: number): Promise<readonly string[]> {
  const failures: string[] = [];
  const names = Array.from({ length: count }, (_, index) => `many-${index}`);
  const worker = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) await create(client, aModel(name), failures);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return failures;
}

async function create(client: KubeClient, object: object, failures: string[]): Promise<void> {
  try {
    await client.create(modelResource, namespace, object);
  } catch (error) {
    failures.push(messageOf(error));
  }
}

async function rolledOut(bundle: Installed): Promise<void> {
  for (const name of ['ingester-webhook', 'ingester-reconciler']) {
    await bundle.kubectl('rollout', 'status', '-n', system, `deployment/${name}`, '--timeout=120s');
  }
}

/** What the accounts of the bundle may do and what they did in all the tests above, uninstall included. */
function checkRights({ auditLog }: Installed, manifests: readonly Manifest[]): void {
  if (auditLog === undefined) return;
  const rights = rightsOf(manifests);
  const calls = callsOf(auditLog());
  const unlisted = calls.filter((call) => call.objectRef !== undefined && !rights.some((right) => uses(call, right)));
  assert.deepEqual([...new Set(unlisted.map(describeCall))], []);
  const unused = unusedRights(rights, calls).filter((right) => !(right in rare));
  assert.deepEqual(unused, []);
}

/** Rights that these tests do not come to use, and what they are for. */
const rare = {
  'ingester-reconciler: get coordination.k8s.io/leases ingester-reconciler-audit': 'a reconciler that only audits',
  'ingester-reconciler: update coordination.k8s.io/leases ingester-reconciler-audit': 'a reconciler that only audits',
  'ingester-uninstall: delete apiregistration.k8s.io/apiservices v2.stored.michelangelo.api':
    'the query API (test/attack/namespaces-can-always-be-deleted.test.ts)',
  'ingester-uninstall: create /configmaps': 'a marker that a user deleted',
  'ingester-webhook: get /configmaps ingester-admission-record': 'creates of CRDs (test/e2e/validating.test.ts)',
  'ingester-webhook: get /configmaps ingester-permitted':
    'writes of Ingesters (test/attack/ingester-is-refused-at-admission.test.ts)',
  'ingester-reconciler: patch /configmaps ingester-control': 'a breaker that opens (test/e2e/operations.test.ts)',
};
