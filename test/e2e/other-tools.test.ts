// What tools do that are none of ours: restores of a backup, kubectl's stronger verbs, controllers that own the finalizers.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { KindDefinition } from '../../src/api/kind.ts';
import { FINALIZER, IMMUTABLE_ANNOTATION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'other-tools';
const model = kind('Model');
const MODELS = 'models.michelangelo.api';
const resource = { group: 'michelangelo.api', version: 'v2', plural: model.plural };

describe('tools that know nothing of the bundle', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  let client: HttpKubeClient;

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    const { kubeconfig } = bundle().controlPlane;
    client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
  });

  const ref = (name: string, namespace = NS) => ({ resource, namespace, name });
  const manifest = (name: string, metadata: object = {}, more: object = {}): object =>
    aManifest('Model', NS, name, { metadata: { namespace: NS, name, ...metadata }, ...more });
  const created = async (name: string, metadata: object = {}, more: object = {}): Promise<KubernetesObject> => {
    const object = await client.create(resource, NS, manifest(name, metadata, more));
    await isStored(object);
    return object;
  };
  const isStored = (object: KubernetesObject) =>
    eventually(async () => {
      const { namespace, name, uid } = object.metadata;
      const rows = await cluster.rows(model, namespace, name);
      const row = rows.find((each) => (each['object_uid'] ?? each['uid']) === uid);
      assert.deepEqual([row?.['delete_time'], row?.['evict_time']], [null, null]);
    });
  /** The state in which the row of the object with this uid has ended, once etcd has forgotten the object. */
  const hasEnded = (name: string, uid: string, as: 'delete_time' | 'evict_time' = 'delete_time') =>
    eventually(async () => {
      const object = await cluster.get(model, NS, name);
      assert.notEqual(object?.metadata.uid, uid);
      const row = (await cluster.rows(model, NS, name)).find((each) => (each['object_uid'] ?? each['uid']) === uid);
      assert.notEqual(row?.[as] ?? null, null);
    });
  const file = (name: string, ...objects: readonly object[]): string => {
    const path = join(bundle().controlPlane.directory, name);
    writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    return path;
  };
  const finalizers = async (name: string) => (await cluster.get(model, NS, name))?.metadata.finalizers;

  /** As Velero restores: identity and status stripped, finalizers and annotations kept, the status by its subresource. */
  const restore = async (of: KindDefinition, backup: KubernetesObject): Promise<KubernetesObject> => {
    const { labels, annotations, finalizers: kept, name, namespace } = backup.metadata;
    const { status, ...rest } = backup as KubernetesObject & { readonly status?: object };
    const metadata = {
      ...{ name, namespace, annotations, finalizers: kept },
      labels: { ...labels, 'velero.io/backup-name': 'b', 'velero.io/restore-name': 'r' },
    };
    const restored = await client.create({ ...resource, plural: of.plural }, namespace, { ...rest, metadata });
    if (status === undefined) return restored;
    const target = { resource: { ...resource, plural: of.plural }, namespace, name };
    return client.mergePatch(target, { status }, { subresource: 'status' });
  };

  it('a restore of a namespace from a backup has live rows of the new objects, and the rows of the old ones stay ended', async () => {
    const key = { annotations: { 'michelangelo/MetadataStoragePrimaryKey': 'restored-key' } };
    const backups: [KindDefinition, KubernetesObject][] = [];
    for (const [name, metadata] of Object.entries({ plain: {}, labelled: { labels: { team: 'a' } }, keyed: key }))
      backups.push([model, await created(name, metadata, { spec: { algorithm: name } })]);
    const run = kind('PipelineRun');
    await cluster.create(aManifest('PipelineRun', NS, 'finished'));
    const target = { resource: { ...resource, plural: run.plural }, namespace: NS, name: 'finished' };
    const status = { state: 'PIPELINE_RUN_STATE_SUCCEEDED' };
    backups.push([run, await client.mergePatch(target, { status }, { subresource: 'status' })]);
    await cluster.kubectl('delete', `${MODELS},pipelineruns.michelangelo.api`, '-n', NS, '--all');
    for (const [of, backup] of backups) {
      const restored = await restore(of, backup);
      assert.deepEqual(restored.metadata.finalizers, [FINALIZER]);
      await eventually(async () => {
        const rows = await cluster.rows(of, NS, backup.metadata.name);
        const live = rows.filter((row) => row['delete_time'] === null && row['evict_time'] === null);
        assert.deepEqual(
          live.map((row) => [row['object_uid'] ?? row['uid'], String(row['res_version'])]),
          [[restored.metadata.uid, restored.metadata.resourceVersion]],
        );
        if (of === run) assert.equal(live[0]?.['state'], status.state);
      });
    }
    await cluster.kubectl('delete', `${MODELS},pipelineruns.michelangelo.api`, '-n', NS, '--all');
    for (const [of, { metadata }] of backups)
      await eventually(async () => {
        const rows = await cluster.rows(of, NS, metadata.name);
        assert.ok(rows.length > 0 && rows.every((row) => row['delete_time'] !== null));
      });
  });

  it('a restore of a backup that has an object that was evicted since keeps the only copy, and the new object', async () => {
    const backup = await created('archived');
    await cluster.patch(model, NS, 'archived', { metadata: { annotations: { [IMMUTABLE_ANNOTATION]: 'true' } } });
    await hasEnded('archived', backup.metadata.uid, 'evict_time');
    const restored = await restore(model, backup);
    await isStored(restored);
    const rows = await cluster.rows(model, NS, 'archived');
    assert.deepEqual(
      rows.map((row) => [row['evict_time'] !== null, row['delete_time']]),
      [
        [true, null],
        [false, null],
      ],
    );
    await cluster.kubectl('delete', MODELS, '-n', NS, 'archived');
    await hasEnded('archived', restored.metadata.uid);
  });

  it('kubectl replace --force ends the row of the old object and stores the new one', async () => {
    const { metadata } = await created('replaced');
    const path = file('replace.json', manifest('replaced', {}, { spec: { algorithm: 'new' } }));
    await cluster.kubectl('replace', '--force', '-f', path);
    await hasEnded('replaced', metadata.uid);
    const object = await client.get(ref('replaced'));
    assert.deepEqual(object.metadata.finalizers, [FINALIZER]);
    await isStored(object);
  });

  it('kubectl apply --prune ends the rows of what it prunes, and no other', async () => {
    const labels = { app: 'pruned' };
    const prune = [
      'apply',
      '--prune',
      '-l',
      'app=pruned',
      '-n',
      NS,
      '--prune-allowlist=michelangelo.api/v2/Model',
      '-f',
    ];
    await cluster.kubectl(...prune, file('all.json', manifest('stays', { labels }), manifest('goes', { labels })));
    const [stays, goes] = [await client.get(ref('stays')), await client.get(ref('goes'))];
    for (const object of [stays, goes]) await isStored(object);
    await cluster.kubectl(...prune, file('fewer.json', manifest('stays', { labels })));
    await hasEnded('goes', goes.metadata.uid);
    await isStored(stays);
  });

  it('kubectl delete --grace-period=0 --force waits for the final state as any delete', async () => {
    const { metadata } = await created('forced');
    await cluster.kubectl('delete', MODELS, '-n', NS, 'forced', '--grace-period=0', '--force');
    await hasEnded('forced', metadata.uid);
  });

  for (const cascade of ['foreground', 'orphan'] as const)
    it(`kubectl delete --cascade=${cascade} of an owner ends its row, and that of its dependant ${cascade === 'orphan' ? 'stays live' : 'ends'}`, async () => {
      const owner = await created(`owner-${cascade}`);
      const { uid, name } = owner.metadata;
      const reference = { apiVersion: 'michelangelo.api/v2', kind: 'Model', name, uid, blockOwnerDeletion: true };
      const dependant = await created(`dependant-${cascade}`, { ownerReferences: [reference] });
      await cluster.kubectl('delete', MODELS, '-n', NS, name, `--cascade=${cascade}`);
      await hasEnded(name, uid);
      if (cascade === 'foreground') {
        await eventually(async () => assert.equal(await cluster.get(model, NS, dependant.metadata.name), undefined));
        const rows = await cluster.rows(model, NS, dependant.metadata.name);
        assert.ok(rows.every((row) => row['delete_time'] !== null || row['evict_time'] !== null));
        return;
      }
      await eventually(async () => {
        const object = await client.get(ref(dependant.metadata.name));
        assert.deepEqual(
          [object.metadata['ownerReferences'], object.metadata.deletionTimestamp],
          [undefined, undefined],
        );
      });
      await isStored(dependant);
    });

  it('a controller that owns the finalizers by server-side apply, and then applies without, leaves the object guarded', async () => {
    const apply = { fieldManager: 'owner-of-finalizers', force: true };
    const others = ['example.com/a', FINALIZER];
    await client.apply(ref('applied'), manifest('applied', { finalizers: others }), apply);
    await client.apply(ref('applied'), manifest('applied', { finalizers: ['example.com/a'] }), apply);
    assert.deepEqual(new Set(await finalizers('applied')), new Set(others));
    await client.apply(ref('applied'), manifest('applied'), apply);
    assert.deepEqual(await finalizers('applied'), [FINALIZER]);
    const { metadata } = await client.get(ref('applied'));
    await isStored(await client.get(ref('applied')));
    await cluster.kubectl('delete', MODELS, '-n', NS, 'applied');
    await hasEnded('applied', metadata.uid);
  });

  it('a controller that applies our finalizer again and again while the object is deleted does not keep it', async () => {
    const apply = { fieldManager: 'applies-always', force: true };
    const { metadata } = await created('applied-again');
    let [over, wrong] = [false, ''];
    const applying = (async () => {
      while (!over) {
        const change = manifest('applied-again', { finalizers: [FINALIZER], uid: metadata.uid });
        await client.apply(ref('applied-again'), change, apply).catch((error: unknown) => (wrong = String(error)));
      }
    })();
    await client.delete(ref('applied-again'), {});
    await hasEnded('applied-again', metadata.uid);
    over = true;
    await applying;
    assert.match(wrong, /uid|already|conflict|precondition/i);
  });

  it('a dynamic client that writes an empty list of finalizers leaves a live object guarded, and lets one that leaves go', async () => {
    const object = await created('emptied', {}, { spec: { algorithm: 'final' } });
    const bare = (each: KubernetesObject): object => ({ ...each, metadata: { ...each.metadata, finalizers: [] } });
    const updated = await client.update(ref('emptied'), bare(object));
    assert.deepEqual(updated.metadata.finalizers, [FINALIZER]);
    const merged = await client.mergePatch(ref('emptied'), { metadata: { finalizers: null } });
    assert.deepEqual(merged.metadata.finalizers, [FINALIZER]);
    await client.delete(ref('emptied'), {});
    await hasEnded('emptied', object.metadata.uid);
    assert.equal((await cluster.row(model, NS, 'emptied'))['algorithm'], 'final');
  });

  it('numbers, names and texts that other languages stumble over are stored as the API server has them, and the object leaves', async () => {
    const annotations = {
      constructor: '\u{1F600}\u200B',
      toString: 'NaN',
      'example.com/large': 'a'.repeat(200 * 1024),
    };
    const object = await created('odd', { annotations, labels: { constructor: '1e400', valueOf: 'null' } });
    const row = await cluster.row(model, NS, 'odd');
    const stored = (typeof row['json'] === 'string' ? JSON.parse(row['json']) : row['json']) as KubernetesObject;
    assert.deepEqual({ ...stored.metadata.annotations }, annotations);
    assert.deepEqual({ ...stored.metadata.labels }, { ...object.metadata.labels });
    await cluster.kubectl('delete', MODELS, '-n', NS, 'odd');
    await hasEnded('odd', object.metadata.uid);
  });

  it('a namespace of two hundred objects that is deleted while MySQL is away goes once MySQL is back', async () => {
    const namespace = 'goes-without-mysql';
    await cluster.namespace(namespace);
    const names = Array.from({ length: 200 }, (_, index) => `m${index}`);
    const items = names.map((name) => aManifest('Model', namespace, name));
    await cluster.apply({ apiVersion: 'v1', kind: 'List', items }, '--server-side');
    await eventually(async () => assert.equal((await cluster.rows(model, namespace)).length, names.length));
    await bundle().server.stop();
    await cluster.kubectl('delete', 'namespace', namespace, '--wait=false');
    await eventually(async () =>
      assert.notEqual((await cluster.get(model, namespace, 'm199'))?.metadata.deletionTimestamp, undefined),
    );
    await bundle().server.start();
    await cluster.kubectl('wait', '--for=delete', `namespace/${namespace}`, '--timeout=120s');
    const rows = await cluster.rows(model, namespace);
    assert.deepEqual([rows.length, rows.filter((row) => row['delete_time'] === null).length], [names.length, 0]);
  });
});
