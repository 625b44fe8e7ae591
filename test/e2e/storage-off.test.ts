// With metadata storage off, or of a kind that is not ingested, the bundle holds no object, and one that it held before is
// told of; switching storage on finishes what waited.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { probe } from '../../hack/local/role-process.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'storage-off';
const Model = kind('Model');
/** The idle reconciler looks every 30 seconds. */
const LOOK_MS = 60_000;

describe('with metadata storage off', () => {
  const bundle = useBundle({
    configuration: { metadataStorage: { enableMetadataStorage: false }, leaderElection: { enabled: true } },
  });
  let cluster: Cluster;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
  });

  const finalizersOf = async (name: string) => (await cluster.get(Model, NS, name))?.metadata.finalizers;
  const waiting = async (kindName = 'Model'): Promise<string | undefined> => {
    const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
    return new RegExp(`^ingester_deletions_without_storage\\{kind="${kindName}"\\} (\\d+)$`, 'm').exec(body)?.[1];
  };
  const restartWith = async (change: object): Promise<void> => {
    const { reconciler, directory } = bundle();
    const file = join(directory, 'reconciler.yaml');
    const configuration = parse(readFileSync(file, 'utf8')) as object;
    await reconciler.stop();
    writeFileSync(file, stringify({ ...configuration, ...change }));
    await reconciler.start();
  };

  it('an object gets no finalizer, neither created nor updated, and is deleted at once', async () => {
    assert.equal((await cluster.create(aManifest('Model', NS, 'free'))).code, 0);
    await cluster.patch(Model, NS, 'free', { spec: { algorithm: 'another' } });
    assert.equal(await finalizersOf('free'), undefined);
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'free', '--timeout=10s');
    assert.equal(await cluster.get(Model, NS, 'free'), undefined);
    assert.deepEqual(await cluster.rows(Model, NS), []);
  });

  it('an object that was guarded before stays so, and says why its deletion waits', async () => {
    const metadata = { namespace: NS, name: 'held', finalizers: [FINALIZER] };
    await cluster.create({ ...aManifest('Model', NS, 'held'), metadata });
    await cluster.patch(Model, NS, 'held', { metadata: { finalizers: null } });
    assert.deepEqual(await finalizersOf('held'), [FINALIZER]);
    assert.equal(await waiting(), '0');
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'held', '--wait=false');
    await eventually(async () => assert.equal(await waiting(), '1'), LOOK_MS);
    await eventually(async () => {
      const description = await cluster.kubectl('describe', 'models.michelangelo.api', '-n', NS, 'held');
      assert.match(description, /Warning\s+StorageOff\s.*metadata storage is off.*ingester uninstall/);
    }, LOOK_MS);
    assert.match(cluster.reconcilerLog(), /"count":1.*wait, because metadata storage is off/);
  });

  it('switching metadata storage on finishes the deletion, and new objects are guarded', async () => {
    await restartWith({ metadataStorage: { enableMetadataStorage: true } });
    await eventually(async () => assert.equal(await cluster.get(Model, NS, 'held'), undefined), LOOK_MS);
    assert.ok((await cluster.row(Model, NS, 'held'))['delete_time'] !== null);
    await eventually(async () => {
      const dryRun = await cluster.create(aManifest('Model', NS, 'new'), '--dry-run=server', '-o', 'json');
      assert.deepEqual((JSON.parse(dryRun.stdout) as { metadata: { finalizers?: string[] } }).metadata.finalizers, [
        FINALIZER,
      ]);
    }, LOOK_MS);
  });

  it('an object of a kind that the configuration leaves out is free, and one that was guarded says why it waits', async () => {
    const Project = kind('Project');
    await cluster.create(aManifest('Project', NS, 'guarded-before'));
    await restartWith({ ingester: { kinds: ['Model'] } });
    await bundle().webhook.stop();
    await bundle().webhook.start();
    await eventually(async () => {
      assert.equal((await cluster.create(aManifest('Project', NS, 'free'))).code, 0);
    }, LOOK_MS);
    await cluster.kubectl('delete', 'projects.michelangelo.api', '-n', NS, 'free', '--timeout=10s');
    await cluster.kubectl('delete', 'projects.michelangelo.api', '-n', NS, 'guarded-before', '--wait=false');
    await eventually(async () => assert.equal(await waiting('Project'), '1'), LOOK_MS);
    await eventually(async () => {
      const description = await cluster.kubectl('describe', 'projects.michelangelo.api', '-n', NS, 'guarded-before');
      assert.match(description, /Warning\s+KindNotIngested\s.*ingester\.kinds does not name their kind/);
    }, LOOK_MS);
    assert.equal(await waiting('Model'), undefined);
    await restartWith({ ingester: {} });
    await eventually(async () => assert.equal(await cluster.get(Project, NS, 'guarded-before'), undefined), LOOK_MS);
    assert.ok((await cluster.row(Project, NS, 'guarded-before'))['delete_time'] !== null);
  });
});
