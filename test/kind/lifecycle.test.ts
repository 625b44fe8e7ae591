// The Ingester resource under a real kubelet: an upgrade under load, one that fails, one that is approved, and one whose node is
// drained. Runs on the cluster that E2E_KUBECONFIG names (hack/kind/test), in place of its plain bundle, which comes back.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import type { IngesterStatus } from '../../src/api/ingester/status.ts';
import { APPROVE_UPGRADE_ANNOTATION } from '../../src/api/names.ts';
import { CodedError } from '../../src/base/errors.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf, manifestsIn, modelIn, rowsInPod } from '../support/in-kind.ts';
import { type Overlay, overlayOf } from '../support/overlay-of.ts';
import { nameOf } from '../support/renders.ts';
import { underLoad } from '../support/under-load.ts';
import { useInstalled } from '../support/use-installed.ts';
import { anIngester, INGESTER, isSettled, SYSTEM } from '../support/use-lifecycle.ts';

const [run] = [Date.now()];
const namespace = `lifecycle-${run.toString(36)}`;
/** The database keeps the version that it was migrated to: each run begins with a newer one. */
const version = (minor: number): string => `${Math.floor(run / 1000)}.${minor}.0`;
const image = (tag: string): string => `michelangelo-ingester:${tag}`;
const ofRun = ['-n', SYSTEM, '-l', `michelangelo/ingester=${INGESTER}`] as const;

const spec: IngesterSpec = {
  version: version(0),
  image: image('dev'),
  database: {
    credentialsSecret: 'ingester-mysql',
    migrationCredentialsSecret: 'ingester-mysql-migrate',
    tls: { caSecret: { name: 'ingester-mysql', key: 'ca.crt' } },
  },
  kinds: { requeuePeriod: '2s' },
  components: { sync: { replicas: 2 } },
};

/** Time for the drain to come, then the task itself. */
const slowMigration = [
  'node',
  '--eval',
  `setTimeout(() => {
    const args = ['task', 'migrate', '--gate-holder', 'lifecycle/${SYSTEM}/${INGESTER}', '-o', 'json'];
    const task = require('child_process').spawn('ingester', args, { stdio: 'inherit' });
    task.on('exit', (code) => process.exit(code ?? 1));
  }, 15_000)`,
];

const skip = process.env['E2E_KUBECONFIG'] === undefined && 'needs a cluster';

describe('an Ingester resource in containers', { skip }, () => {
  const use = useInstalled();
  let overlay: Overlay;

  const status = async (): Promise<IngesterStatus> => {
    const text = await use().kubectl('get', 'ingester', '-n', SYSTEM, INGESTER, '-o', 'json');
    return (JSON.parse(text) as { readonly status?: IngesterStatus }).status ?? {};
  };
  const until = (what: string, fits: (status: IngesterStatus) => boolean): Promise<IngesterStatus> =>
    eventually(async () => {
      const found = await status();
      if (fits(found)) return found;
      const { target: _, stable: __, ...rest } = found;
      throw new CodedError('TEST_STATUS', `not yet ${what}: ${JSON.stringify(rest)}`);
    }, 300_000);
  const runs = (minor: number): Promise<IngesterStatus> =>
    until(`running ${version(minor)}`, (found) => isSettled(found, version(minor)) && found.ready === '2/2');
  const patch = (change: object): Promise<string> =>
    use().kubectl('patch', 'ingester', '-n', SYSTEM, INGESTER, '--type=merge', '-p', JSON.stringify({ spec: change }));
  const messageIn = ({ conditions = [] }: IngesterStatus): string => {
    const { reason, message } = conditions.find(({ type }) => type === 'LifecycleComplete') ?? {};
    return `${reason}: ${message}`;
  };
  const stores = async (name: string): Promise<void> => {
    await use().apply(modelIn(namespace, name));
    await eventually(async () => assert.equal(await rowsInPod(use(), namespace, name), 1), 120_000);
  };
  const images = (): Promise<string> =>
    use().kubectl('get', 'pods', ...ofRun, '-o', 'jsonpath={.items[*].spec.containers[*].image}');

  before(async () => {
    const bundle = use();
    overlay = overlayOf(bundle.overlay, 'dev', ['lifecycle']);
    const plain = new Set((await manifestsIn(bundle, { folder: bundle.overlay })).map(nameOf));
    const manifests = (await manifestsIn(bundle, overlay)).filter(({ kind }) => kind !== 'Job');
    const permitted = { metadata: { namespace: SYSTEM, name: 'ingester-permitted' }, data: { commands: '*' } };
    const items = [...manifests, { apiVersion: 'v1', kind: 'ConfigMap', ...permitted }];
    // What only the lifecycle controller needs goes with it.
    const added = items.filter((item) => !plain.has(nameOf(item)));
    writeFileSync(join(overlay.folder, 'added.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: added }));
    await bundle.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    // Objects of these names are never taken from the plain bundle.
    await bundle.kubectl('delete', '-n', SYSTEM, 'jobs', '--all');
    await bundle.apply({ apiVersion: 'v1', kind: 'List', items });
    await bundle.kubectl('rollout', 'status', '-n', SYSTEM, 'deployment/ingester-lifecycle', '--timeout=240s');
  });
  after(async () => {
    const bundle = use();
    await bundle.kubectl('delete', 'ingester', '-n', SYSTEM, INGESTER, '--ignore-not-found', '--timeout=120s');
    await bundle.shell('kubectl delete --ignore-not-found -f added.json', overlay.folder);
    overlay.remove();
    await bundle.kubectl('apply', '-k', bundle.overlay);
    await bundle.kubectl('rollout', 'status', '-n', SYSTEM, 'deployment/ingester-reconciler', '--timeout=240s');
    await bundle.kubectl('delete', 'namespace', namespace, '--timeout=120s');
  });

  it('installs, and stores', async () => {
    await use().apply(anIngester(spec));
    await runs(0);
    await stores('installed');
  });

  it('is upgraded to another image under 100 creates a second, of which none is refused and each is stored', async () => {
    const { call, kept, stored } = createsOf(use, namespace, 'upgraded');
    const wrong = await underLoad(call, async () => {
      await patch({ version: version(1), image: image('next') });
      await runs(1);
    });
    assert.deepEqual(wrong, []);
    assert.ok(kept.count > 20, `${kept.count} objects were kept`);
    await stored();
    assert.equal(await images(), `${image('next')} ${image('next')}`);
  });

  it('whose next image is missing goes back by itself, says why, and stores what came meanwhile', async () => {
    await patch({ version: version(2), image: image('missing'), lifecycle: { rollback: { deadline: '90s' } } });
    await until('stuck', (found) => messageIn(found).startsWith('TaskCannotStart'));
    await use().apply(modelIn(namespace, 'meanwhile'));
    const back = await until('back', (found) => found.phase === 'Blocked' && found.lifecycle?.pipeline === 'Settled');
    assert.equal(back.target?.spec.version, version(1));
    assert.match(messageIn(back), /^RolledBack: .* was not ready in time: .*Image.*michelangelo-ingester:missing/);
    await eventually(async () => assert.equal(await rowsInPod(use(), namespace, 'meanwhile'), 1), 120_000);
    assert.equal(await images(), `${image('next')} ${image('next')}`);
  });

  it('that is supervised is upgraded when a user approves it, and not before', async () => {
    await patch({ version: version(3), image: image('dev'), lifecycle: { upgradeMode: 'Supervised' } });
    const waiting = await until('asking', ({ phase }) => phase === 'AwaitingApproval');
    assert.equal(waiting.version, version(1));
    await stores('asked');
    assert.equal(await images(), `${image('next')} ${image('next')}`);
    const approval = `${APPROVE_UPGRADE_ANNOTATION}=${waiting.lifecycle?.upgrade?.token}`;
    await use().kubectl('annotate', 'ingester', '-n', SYSTEM, INGESTER, approval);
    const { lifecycle } = await runs(3);
    assert.equal(lifecycle?.upgrade?.decidedBy, 'kubernetes-admin');
    await stores('approved');
  });

  it('is upgraded although the node of its migration is drained', async () => {
    const bundle = use();
    const migrate = { command: slowMigration };
    await patch({ version: version(4), lifecycle: { upgradeMode: 'Automatic', migrate } });
    const task = [
      '-n',
      SYSTEM,
      '-l',
      'app.kubernetes.io/component=migrate',
      '--field-selector',
      'status.phase=Running',
    ];
    const node = await eventually(async () => {
      const found = await bundle.kubectl('get', 'pods', ...task, '-o', 'jsonpath={.items[*].spec.nodeName}');
      assert.match(found, /^\S+$/);
      return found;
    }, 120_000);
    const drain = ['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=240s'] as const;
    try {
      // The pods of MySQL and of cert-manager stay: this is about ours.
      await bundle.kubectl(...drain, '--pod-selector', 'app.kubernetes.io/name=michelangelo-ingester');
      const { lifecycle } = await runs(4);
      assert.equal(lifecycle?.gateHeld, false);
      assert.equal(lifecycle.steps.migrate?.attempts, 0);
      await stores('drained');
    } finally {
      await bundle.kubectl('uncordon', node);
    }
  });
});
