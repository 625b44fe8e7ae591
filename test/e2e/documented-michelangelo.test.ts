// The page on Michelangelo, as its platform engineer follows it: a cluster with the CRDs of the original, its database, and
// the commands as they are printed.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readByOriginal } from '../contract/original/definitions.ts';
import { asOriginal } from '../contract/original/objects.ts';
import { inWords, reads, type Statement, softDelete, upsert } from '../contract/original/statements.ts';
import { ApiServer } from '../support/api-server.ts';
import { aManifest } from '../support/cluster.ts';
import { blocksIn, commandsOf } from '../support/docs-page.ts';
import { DocumentedInstall } from '../support/documented-install.ts';
import { eventually } from '../support/eventually.ts';
import { OriginalApiServer, shippedSettings } from '../support/original/crd-sync.ts';
import { originalCrds } from '../support/original/crds.ts';
import { originalVariant } from '../support/original-schema.ts';

const theirs = await originalCrds();
const skip = theirs === undefined ? 'needs Go on PATH to fetch the definitions of Kubernetes' : false;
const page = 'michelangelo.md';
const variant = originalVariant('as in the chart');

describe('docs/michelangelo.md', { skip }, () => {
  let user: DocumentedInstall;
  let original: OriginalApiServer;
  const restart = async (): Promise<void> => {
    for (const settings of Object.values(shippedSettings)) await original.start(settings);
  };
  before(async () => {
    user = await DocumentedInstall.start('mysql');
    original = new OriginalApiServer(new ApiServer(user.cluster.controlPlane.kubeconfig), theirs ?? []);
    await restart();
    await user.cluster.kubectl('create', 'namespace', 'ml');
    await user.apply(aManifest('Model', 'ml', 'before', { spec: { algorithm: 'xgboost' } }));
    for (const block of blocksIn('install.md', 'The database')) await user.sql(block);
    await user.sql({ section: '', language: 'sql', text: await databaseOfOriginal() });
    await user.sh(commandsOf('install.md', 'Namespace and Secrets'));
  });
  after(() => user.stop());

  /** What its ingester leaves behind: its tables, and in them an object of the cluster and one that it has archived. */
  const databaseOfOriginal = async (): Promise<string> => {
    const uid = await user.cluster.kubectl(
      ...'get models.michelangelo.api -n ml before -o jsonpath={.metadata.uid}'.split(' '),
    );
    const insert = (name: string, key: string): string => {
      const json = JSON.stringify({ metadata: { name, namespace: 'ml', uid: key }, spec: { algorithm: 'lightgbm' } });
      const values = [key, 'michelangelo.api/v2', 'ml', name, '1', '2026-05-01 08:00:00', '2026-05-01 08:00:00', json];
      return (
        'INSERT INTO model (uid, group_ver, namespace, name, res_version, create_time, update_time, json) ' +
        `VALUES (${values.map((value) => `'${value}'`).join(', ')})`
      );
    };
    const tables = [...variant.kinds, ...variant.unknown].flatMap(variant.create);
    return ['USE michelangelo', ...tables, insert('before', uid), insert('archived', 'uid-of-archived'), ''].join(
      ';\n',
    );
  };

  const isStored = (name: string): Promise<void> =>
    eventually(async () => {
      const rows = await user.query(`SELECT algorithm FROM michelangelo.model WHERE name = '${name}'`);
      assert.deepEqual(rows, [{ algorithm: 'xgboost' }]);
    }, 60_000);

  it('installs beside it, stores what was there before and what comes, and lets it start again', async () => {
    await user.sh(commandsOf(page, 'Install beside it'));
    await user.cluster.kubectl(
      'rollout',
      'status',
      '-n',
      'ingester-system',
      'deployment/ingester-reconciler',
      '--timeout=120s',
    );
    await user.apply(aManifest('Model', 'ml', 'after', { spec: { algorithm: 'xgboost' } }));
    for (const name of ['before', 'after']) await isStored(name);
    await restart();
  });

  it('gives objects the key of their rows for a move to another cluster', async () => {
    const database = 'michelangelo-database.md';
    await user.apply(aManifest('PipelineRun', 'ml', 'run', { spec: { pipeline: { namespace: 'ml', name: 'p' } } }));
    await user.sh(commandsOf(database, 'An object in another cluster'));
    const get = ['get', 'pipelineruns.michelangelo.api', 'run', '-n', 'ml', '-o', 'json'];
    const { metadata } = JSON.parse(await user.cluster.kubectl(...get)) as {
      readonly metadata: { readonly uid: string; readonly annotations: Readonly<Record<string, string>> };
    };
    assert.equal(metadata.annotations['michelangelo/MetadataStoragePrimaryKey'], metadata.uid);
    await eventually(async () => {
      const rows = await user.query("SELECT uid FROM michelangelo.pipeline_run WHERE name = 'run'");
      assert.deepEqual(rows, [{ uid: metadata.uid }]);
    }, 60_000);
    const [block] = blocksIn(database, 'An object in another cluster').filter(({ language }) => language === 'sql');
    const moved = block?.text.replace('pipeline_run', 'michelangelo.pipeline_run').replace(/;\s*$/, '');
    assert.deepEqual(await user.query(moved ?? assert.fail()), []);
  });

  it('takes over what its ingester had stored, and shows it', async () => {
    assert.match(await user.sh(commandsOf(page, 'Take over from it')), /model\b.*\b2 rows/i);
    const [block] = blocksIn(page, 'Take over from it').filter(({ language }) => language === 'sql');
    const count = block?.text.replace('FROM ', 'FROM michelangelo.').replace(/;\s*$/, '') ?? assert.fail();
    for (const table of ['pipeline_run', 'model'])
      assert.deepEqual(
        Object.values((await user.query(count.replace('pipeline_run', table)))[0] ?? {}).map(Number),
        [0],
      );
    const [archived] = await user.query(
      "SELECT algorithm, delete_time FROM michelangelo.model WHERE name = 'archived'",
    );
    assert.deepEqual(archived, { algorithm: 'lightgbm', delete_time: null });
  });

  it('finds nothing wrong with its CRDs', async () => {
    assert.equal(await user.sh(commandsOf(page, 'What it needs of the CRDs')), '');
  });

  it('applies our CRDs over its own, after which it starts all the same', async () => {
    await user.sh(commandsOf(page, 'Its API server at a start'));
    await restart();
    await isStored('before');
  });

  const [stop = '', remove = ''] = blocksIn(page, 'Go back to it').map(({ text }) => text);
  const run = async (statements: readonly Statement[]): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    let last: readonly Readonly<Record<string, unknown>>[] = [];
    for (const statement of statements) last = await user.query(inWords(statement));
    return last;
  };

  it('stops as printed: no object waits for it, nothing adds the finalizer, and its rows stay', async () => {
    await user.sh(stop);
    const get = ['get', 'models.michelangelo.api', '-n', 'ml', '-o', 'jsonpath={.items[*].metadata.finalizers}'];
    assert.equal(await user.cluster.kubectl(...get), '');
    await user.apply(aManifest('Model', 'ml', 'unguarded'));
    assert.equal(await user.cluster.kubectl(...get), '');
    const pods = ['get', 'pods', '-n', 'ingester-system', '-l', 'app.kubernetes.io/component=reconciler', '-o', 'name'];
    assert.equal(await user.cluster.kubectl(...pods), '');
    const left = await user.query('SELECT name FROM michelangelo.model WHERE delete_time IS NULL ORDER BY name');
    assert.deepEqual(
      left.map(({ name }) => name),
      ['after', 'archived', 'before'],
    );
    await restart();
  });

  it('is taken out as printed, and leaves CRDs and objects', async () => {
    await user.sh(remove);
    const left = await user.cluster.kubectl('get', 'namespaces,crd,models.michelangelo.api', '-A', '-o', 'name');
    assert.doesNotMatch(left, /ingester-system|ingester\.michelangelo\.api/);
    assert.match(left, /model\.michelangelo\.api\/before/);
    await restart();
  });

  it('leaves a database in which the statements of the original read, write and delete', async () => {
    for (const { kind, table } of variant.kinds) {
      const theirs = asOriginal({ kind, uid: `back-${kind}`, version: 7, namespace: 'ml', labels: { back: 'yes' } });
      await run(upsert(`michelangelo.${table}`, theirs, '2026-06-01 10:00:00'));
    }
    const models = 'michelangelo.model';
    const back = asOriginal({ kind: 'Model', uid: 'back-Model', version: 7, namespace: 'ml', labels: { back: 'yes' } });
    for (const [how, statement] of Object.entries(reads)) {
      const found = await readByOriginal('Model', await run([statement(models, back)]));
      assert.ok(
        found.some(({ uid }) => uid === back.uid),
        how,
      );
    }
    const listed = await readByOriginal('Model', await run([reads['as a list']!(models, back)]));
    assert.deepEqual(listed.map(({ name }) => name).sort(), ['after', 'archived', 'before', back.name]);
    const [ours] = await user.query(`SELECT uid FROM ${models} WHERE name = 'before'`);
    const changed = { ...back, name: 'before', uid: String(ours?.['uid']), resourceVersion: 999_999 };
    await run(upsert(models, changed, '2026-06-01 10:00:00'));
    const rows = await user.query(
      `SELECT CAST(res_version AS CHAR) AS version, algorithm FROM ${models} WHERE name = 'before'`,
    );
    assert.deepEqual(rows, [{ version: '999999', algorithm: back.indexed['algorithm'] }]);
    await run([softDelete(models, 'ml', 'after', '2026-06-01 11:00:00')]);
    assert.deepEqual(await run([reads['by name']!(models, { ...back, name: 'after' })]), []);
  });
});
