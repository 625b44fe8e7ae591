// The pages on install, upgrade, query, GitOps and uninstall, as a newcomer follows them: every command as it is printed,
// from an empty cluster and an empty database on. What stands for cert-manager and for the address of MySQL is in
// test/support/documented-install.ts.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FINALIZER } from '../../src/api/names.ts';
import { blocksIn, commandsOf } from '../support/docs-page.ts';
import { DocumentedInstall } from '../support/documented-install.ts';
import { eventually } from '../support/eventually.ts';
import { thirdPartyCrds } from '../support/third-party-crds.ts';

const root = join(import.meta.dirname, '../..');
const system = 'ingester-system';
const crds = await thirdPartyCrds();

/** As far as a cluster without Flux's controllers has them: the definitions, and the samples of platform and bundle. */
const followedByFlux = `kubectl apply --server-side -f ${crds}
  # Of a definition that has no conditions yet, kubectl says so instead of waiting.
  for attempt in 1 2 3 4 5; do kubectl wait --for=condition=Established -f ${crds} && break; sleep 1; done
  kubectl create namespace flux-system
  kubectl apply -f config/flux/platform.yaml -f config/flux/bundle.yaml`;

/** A fault of the pages does not depend on the database, so each way to uninstall is followed on one. */
const runs = [
  { flavour: 'mysql', uninstall: 'Uninstall and install again', skip: false },
  { flavour: 'mariadb', uninstall: 'Flux', skip: crds === undefined ? 'needs Go to fetch the CRDs of Flux' : false },
] as const;

for (const { flavour, uninstall, skip } of runs) {
  describe(`what the docs print, on ${flavour}`, () => {
    let user: DocumentedInstall;
    before(async () => {
      user = await DocumentedInstall.start(flavour);
    });
    after(() => user.stop());

    const rowOf = async (name: string): Promise<Record<string, unknown>> => {
      const [row, ...more] = await user.query(`SELECT * FROM michelangelo.model WHERE name = '${name}'`);
      assert.ok(row !== undefined && more.length === 0, `one row of ${name}`);
      return row;
    };
    const aModel = (name: string, labels: object = {}): object => ({
      ...{ apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { namespace: 'ml', name, labels } },
      spec: { algorithm: 'xgboost' },
    });
    const isStored = async (name: string): Promise<void> => {
      await user.apply(aModel(name, { team: name === 'evicted' ? 'b' : 'a' }));
      await eventually(() => rowOf(name));
    };
    const rolledOut = (...deployments: readonly string[]): Promise<unknown> =>
      Promise.all(
        deployments.map((name) =>
          user.cluster.kubectl('rollout', 'status', '-n', system, `deployment/${name}`, '--timeout=120s'),
        ),
      );
    /** Each of these commands shows something. */
    const eachShows = async (commands: string): Promise<void> => {
      for (const command of commands.trim().split('\n')) {
        assert.notEqual((await user.sh(command, { cwd: root })).trim(), '', command);
      }
    };

    it('install.md and tasks.md make the database, its users with their rights, and their Secrets', async () => {
      for (const block of blocksIn('install.md', 'The database')) await user.sql(block);
      for (const block of blocksIn('tasks.md', 'Snapshots')) await user.sql(block);
      await user.sh(commandsOf('install.md', 'Namespace and Secrets'));
    });

    it('install.md installs the files of a release, which guard and store an object', async () => {
      await user.sh(commandsOf('install.md', 'With kubectl'));
      await user.cluster.kubectl('create', 'namespace', 'ml');
      await isStored('kept');
    });

    it('upgrade.md makes the Jobs anew', async () => {
      await user.sh(commandsOf('upgrade.md', 'With kubectl'));
      await isStored('after-upgrade');
    });

    it('operations.md runs commands that ask MySQL inside the cluster', async () => {
      const told = await user.sh(commandsOf('operations.md', 'Inside the cluster'));
      assert.match(told, /^The database belongs to this cluster: /m);
      assert.match(told, /^Model\b/m);
    });

    it('install.md puts the query API into an overlay', async () => {
      const [overlay, apply] = blocksIn('install.md', 'Your overlay');
      const [unit] = blocksIn('gitops.md', 'Your repository');
      assert.ok(overlay !== undefined && apply !== undefined && unit !== undefined);
      user.overlay(overlay, unit);
      const trust = await user.certifyQuery();
      await user.cluster.kubectl('delete', 'job', '-n', system, '--all');
      await user.sh(apply.text);
      await rolledOut('ingester-webhook', 'ingester-reconciler', 'ingester-query');
      await trust();
      await isStored('evicted');
      await user.cluster.kubectl(
        'annotate',
        'models.michelangelo.api',
        '-n',
        'ml',
        'evicted',
        'michelangelo/Immutable=true',
      );
      await eventually(async () => assert.notEqual((await rowOf('evicted'))['evict_time'], null), 60_000);
    });

    it('query.md puts the plugin on PATH, and shows what is stored', async () => {
      const [install, use] = blocksIn('query.md', 'kubectl ingester');
      assert.ok(install !== undefined && use !== undefined);
      await user.sh(install.text, { cwd: root });
      user.keepInProfile(install.text);
      await eachShows(use.text);
      await eachShows(commandsOf('query.md', 'Query'));
      assert.match(await user.sh(commandsOf('query.md', 'Search')), /"name":"evicted"/);
      // Nothing ended then; a command that was refused would end this.
      await user.sh(commandsOf('query.md', 'States and times'));
      assert.match(await user.sh(commandsOf('query.md', 'Counts and figures')), /"kind":"StoredAggregate"/);
      assert.match(await user.sh(commandsOf('query.md', 'Approximate counts')), /"oneIn":1\b/);
      assert.match(await user.sh(commandsOf('query.md', 'Owners and annotations')), /"kind":"ModelList"/);
    });

    it('gitops.md gives the tab of Argo CD its account, and marks an archived object', async () => {
      await user.sh('kubectl create namespace argocd; kubectl create secret generic argocd-secret -n argocd');
      await user.sh(commandsOf('gitops.md', 'The tab in Argo CD'));
      const shown = 'go-template={{index .data "ingester.authorization" | base64decode}}';
      assert.match(
        await user.cluster.kubectl('get', 'secret', '-n', 'argocd', 'argocd-secret', '-o', shown),
        /^Bearer ey/,
      );

      writeFileSync(join(user.folder, 'model.json'), JSON.stringify(aModel('evicted')));
      writeFileSync(join(user.folder, 'kustomization.yaml'), 'resources: [model.json]\n');
      const { port } = user.cluster.databaseLink;
      const env = {
        ...{ INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true', INGESTER_MYSQL_HOST: '127.0.0.1' },
        ...{ INGESTER_MYSQL_PORT: String(port), INGESTER_MYSQL_DATABASE: 'michelangelo' },
        ...{ INGESTER_MYSQL_USER: 'ingester', INGESTER_MYSQL_PASSWORD: 'password-of-ingester' },
      };
      assert.match(await user.sh(commandsOf('gitops.md', 'Archived objects'), { env }), /ssa: Ignore/);
    });

    it('uninstall.md takes the finalizer off an object where no program of the bundle runs', async () => {
      const run = {
        apiVersion: 'michelangelo.api/v2',
        kind: 'PipelineRun',
        metadata: { namespace: 'ns', name: 'name' },
      };
      await user.cluster.kubectl('create', 'namespace', 'ns');
      await user.apply({ ...run, spec: {} });
      const left = 'app.kubernetes.io/component in (webhook, reconciler)';
      await user.cluster.kubectl('scale', '-n', system, 'deployment', '--all', '--replicas=0');
      await user.cluster.kubectl('wait', '-n', system, 'pod', '-l', left, '--for=delete', '--timeout=120s');
      assert.match(await user.sh(commandsOf('uninstall.md', 'The last resort')), new RegExp(FINALIZER));
      const args = [
        'get',
        'pipelineruns.michelangelo.api',
        '-n',
        'ns',
        'name',
        '-o',
        'jsonpath={.metadata.finalizers}',
      ];
      assert.doesNotMatch(await user.cluster.kubectl(...args), /michelangelo/);
    });

    it(`uninstall.md removes the bundle (${uninstall}), and no row`, { skip }, async () => {
      const rows = (): Promise<unknown> =>
        user.query('SELECT uid, row_state, delete_time FROM michelangelo.model ORDER BY uid');
      const before = await rows();
      if (uninstall === 'Flux') await user.sh(followedByFlux, { cwd: root });
      await user.sh(commandsOf('uninstall.md', uninstall));
      const left = await user.cluster.kubectl('get', 'namespaces,crd', '-o', 'name');
      assert.doesNotMatch(left, /ingester-system|ingester\.michelangelo\.api/);
      // The definitions of Michelangelo were in the cluster before.
      assert.match(left, /models\.michelangelo\.api/);
      assert.deepEqual(await rows(), before);
    });
  });
}
