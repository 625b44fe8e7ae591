// The validating rules as users and their tools meet them: refusals as kubectl shows them, and that nothing is refused
// which would wedge an object.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { INGESTER_CRD } from '../../hack/generate/crds/ingester.ts';
import { probe } from '../../hack/local/role-process.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';
import { registerValidation } from '../support/validating-webhook.ts';

const NS = 'validating';
const DANGEROUS_WORDS = /immutable|conflict|invalid|already exists/i;

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface CrdSpec {
  readonly versions: readonly {
    readonly schema: {
      readonly openAPIV3Schema: {
        readonly properties: { readonly spec: { readonly properties: Record<string, object> } };
      };
    };
  }[];
}

/** Refused by us, with a 403, and with words that no tool takes for a reason to create the object anew. */
function assertRefused({ code, stderr }: Result, message: RegExp): void {
  assert.notEqual(code, 0, 'was allowed');
  assert.match(stderr, /Error from server \(Forbidden\)/);
  const [, reason = ''] = /denied the request: (.*)/.exec(stderr) ?? [];
  assert.match(reason, message);
  assert.doesNotMatch(reason, DANGEROUS_WORDS);
}

function assertAllowed({ code, stderr }: Result, warning?: RegExp): void {
  assert.equal(code, 0, stderr);
  if (warning !== undefined) assert.match(stderr, warning);
}

describe('the validating rules on a real API server', () => {
  const bundle = useBundle({ startReconciler: false, webhookSeesDatabase: true });
  let cluster: Cluster;

  const run = (...args: readonly string[]): Promise<Result> => cluster.tryKubectl(...args);
  const merge = (type: string, name: string, patch: object, ...flags: readonly string[]): Promise<Result> =>
    run('patch', type, '-n', NS, name, '--type=merge', '-p', JSON.stringify(patch), ...flags);
  const withInput = (manifest: object, ...args: readonly string[]): Promise<Result> =>
    bundle().controlPlane.kubectlRun([...args, '-f', '-'], { input: JSON.stringify(manifest), allowFailure: true });
  const create = async (kindName: string, name: string, more: object = {}): Promise<void> => {
    assertAllowed(await cluster.create(aManifest(kindName, NS, name, more)));
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await registerValidation(bundle());
    await eventually(async () => {
      const probe = aManifest('RayCluster', NS, 'probe', { metadata: { namespace: NS, name: 'probe' } });
      await cluster.apply({ ...probe, spec: { rayVersion: '2.0.0' } });
      assertRefused(await merge('rayclusters.michelangelo.api', 'probe', { spec: { rayVersion: '1.0.0' } }), /./);
    });
  });

  describe('content-downgrade', () => {
    const rayCluster = (rayVersion: string, annotations: object = {}): object =>
      aManifest('RayCluster', NS, 'ray', {
        metadata: { name: 'ray', namespace: NS, annotations },
        spec: { rayVersion },
      });
    const message =
      /^spec\.rayVersion 2\.9\.0 -> 2\.8\.0 is a downgrade; to permit it set annotation .*=2\.8\.0 \(docs\/admission\.md#[a-z-]+\)$/;
    const versionOf = async (): Promise<unknown> =>
      ((await cluster.get(kind('RayCluster'), NS, 'ray')) as KubernetesObject & { spec: { rayVersion: string } }).spec
        .rayVersion;

    it('refuses an older version by patch, apply, replace, server-side apply and dry run', async () => {
      await create('RayCluster', 'ray', { spec: { rayVersion: '2.9.0' } });
      const older = rayCluster('2.8.0');
      assertRefused(await merge('rayclusters.michelangelo.api', 'ray', { spec: { rayVersion: '2.8.0' } }), message);
      assertRefused(await withInput(older, 'apply'), message);
      assertRefused(await withInput(older, 'apply', '--dry-run=server'), message);
      assertRefused(await withInput(older, 'apply', '--server-side', '--force-conflicts'), message);
      assertRefused(await withInput(older, 'apply', '--server-side', '--force-conflicts', '--dry-run=server'), message);
      assertRefused(await withInput(older, 'replace'), message);
      assert.equal(await versionOf(), '2.9.0');
    });

    it('does not lead apply --force to delete and create the object', async () => {
      const { uid } = (await cluster.get(kind('RayCluster'), NS, 'ray'))?.metadata ?? {};
      assertRefused(await withInput(rayCluster('2.8.0'), 'apply', '--force'), message);
      assert.equal((await cluster.get(kind('RayCluster'), NS, 'ray'))?.metadata.uid, uid);
    });

    it('allows a downgrade with the annotation, once', async () => {
      const permitted = { metadata: { annotations: { 'michelangelo/allow-downgrade': '2.8.0' } } };
      const type = 'rayclusters.michelangelo.api';
      assertRefused(await merge(type, 'ray', { ...permitted, spec: { rayVersion: '2.7.0' } }), /downgrade/);
      assertAllowed(await merge(type, 'ray', { ...permitted, spec: { rayVersion: '2.8.0' } }), /Warning: .*downgrade/);
      assert.equal(await versionOf(), '2.8.0');
      assertRefused(await merge(type, 'ray', { spec: { rayVersion: '2.7.0' } }), /2\.8\.0 -> 2\.7\.0/);
    });

    it('lets a Deployment roll back, and a finished run be written by its controller', async () => {
      await create('Deployment', 'rollback', { spec: { desiredRevision: { name: 'churn-9' } } });
      const back = { spec: { desiredRevision: { name: 'churn-8' } } };
      assertAllowed(await merge('deployments.michelangelo.api', 'rollback', back));
      await create('PipelineRun', 'run');
      const state = (value: string): Promise<Result> =>
        merge('pipelineruns.michelangelo.api', 'run', { status: { state: value } }, '--subresource=status');
      assertAllowed(await state('PIPELINE_RUN_STATE_SUCCEEDED'));
      assertAllowed(await state('PIPELINE_RUN_STATE_RUNNING'), /Warning: status\.state .* is a downgrade/);
    });
  });

  describe('protect-marks', () => {
    const mark = (name: string): object => ({ metadata: { annotations: { [name]: 'true' } } });
    const as = (user: string): string => `--as=${user}`;
    const marks = ['michelangelo/Deleting', 'michelangelo/Immutable'];

    before(async () => {
      const rule = (verbs: readonly string[]): object => ({
        apiGroups: ['michelangelo.api'],
        resources: ['models'],
        verbs,
      });
      for (const [user, verbs] of [
        ['editor', ['get', 'create', 'patch', 'update']],
        ['owner', ['get', 'create', 'patch', 'update', 'delete']],
      ] as const) {
        const metadata = { name: user, namespace: NS };
        const rbac = 'rbac.authorization.k8s.io';
        await cluster.apply({ apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: [rule(verbs)] });
        await cluster.apply({
          apiVersion: `${rbac}/v1`,
          kind: 'RoleBinding',
          metadata,
          roleRef: { apiGroup: rbac, kind: 'Role', name: user },
          subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
        });
      }
    });

    it('asks RBAC whether the user may delete', async () => {
      for (const [index, name] of marks.entries()) {
        await create('Model', `marked-${index}`);
        const type = 'models.michelangelo.api';
        const refused = /needs the right to delete: editor may not delete this object/;
        // The first question connects the webhook to the API server, which may take longer than a busy machine gives.
        await eventually(async () =>
          assertRefused(await merge(type, `marked-${index}`, mark(name), as('editor')), refused),
        );
        assertRefused(await merge(type, `marked-${index}`, mark(name), as('editor'), '--dry-run=server'), refused);
        assertAllowed(await merge(type, `marked-${index}`, { metadata: { labels: { a: 'b' } } }, as('editor')));
        await eventually(async () => assertAllowed(await merge(type, `marked-${index}`, mark(name), as('owner'))));
        assertAllowed(await merge(type, `marked-${index}`, { metadata: { labels: { a: 'c' } } }, as('editor')));
      }
    });

    it('refuses an object that is created to be deleted', async () => {
      const metadata = { name: 'born-marked', namespace: NS, annotations: { 'michelangelo/Deleting': 'true' } };
      const manifest = aManifest('Model', NS, 'born-marked', { metadata });
      for (const args of [['create'], ['apply'], ['apply', '--server-side']])
        assertRefused(await withInput(manifest, ...args), /a new object must not carry/);
    });

    it('warns of a mark whose value does nothing', async () => {
      await create('Model', 'almost-marked');
      const value = { metadata: { annotations: { 'michelangelo/Deleting': 'True' } } };
      assertAllowed(await merge('models.michelangelo.api', 'almost-marked', value), /Warning: .*no effect/);
    });
  });

  it('known-names: an update that brings a name which nothing reads is warned about, and asked about once', async () => {
    await create('Model', 'slip');
    const slip = { metadata: { annotations: { 'michelangelo/deleting': 'true' } } };
    const warning = /Warning: the annotation michelangelo\/deleting has no effect.* is michelangelo\/Deleting meant\?/;
    assertAllowed(await merge('models.michelangelo.api', 'slip', slip), warning);
    const labels = { metadata: { labels: { 'michelangelo/none': 'a', team: 'a' } } };
    assertAllowed(await merge('models.michelangelo.api', 'slip', labels), /Warning: the label michelangelo\/none has/);
    const { stderr } = await merge('models.michelangelo.api', 'slip', { metadata: { labels: { team: 'b' } } });
    assert.doesNotMatch(stderr, /Warning/);
  });

  describe('ingester-downgrade', () => {
    const type = INGESTER_CRD;

    before(async () => {
      const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
      const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
      const names = { kind: 'Ingester', listKind: 'IngesterList', plural: 'ingesters', singular: 'ingester' };
      const definition = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: type },
        spec: {
          group: 'ingester.michelangelo.api',
          names,
          scope: 'Namespaced',
          versions: [{ ...version, schema: { openAPIV3Schema } }],
        },
      };
      // The webhook reads what the CRD was before; the first question takes longer, because it connects.
      await eventually(() => cluster.apply(definition));
      await cluster.kubectl('wait', '--for=condition=Established', '--timeout=30s', 'crd', type);
    });

    it('keeps spec.version at or above what was migrated, and leaves status and other fields alone', async () => {
      await eventually(() => create('Ingester', 'main', { spec: { version: '1.4.0' } }));
      assertAllowed(await merge(type, 'main', { spec: { version: '1.3.0' } }));
      assertAllowed(await merge(type, 'main', { spec: { version: '1.4.0' } }));
      assertAllowed(await merge(type, 'main', { status: { migratedVersion: '1.4.0' } }, '--subresource=status'));
      const message =
        /^spec\.version 1\.3\.2 is older than the migrated 1\.4\.0; to permit it set annotation michelangelo\/allow-downgrade=1\.4\.0:1\.3\.2 \(docs\/admission\.md#[a-z-]+\)$/;
      assertRefused(await merge(type, 'main', { spec: { version: '1.3.2' } }), message);
      assertAllowed(await merge(type, 'main', { spec: { version: '1.4.0-py310', suspend: true } }));
      assertRefused(
        await merge(type, 'main', { spec: { version: 'latest' } }),
        /cannot be compared .*=1\.4\.0:latest \(docs\/admission\.md#[a-z-]+\)$/,
      );
      assertAllowed(await merge(type, 'main', { status: { migratedVersion: '1.3.0' } }, '--subresource=status'));
      assertAllowed(await merge(type, 'main', { status: { migratedVersion: '1.4.0' } }, '--subresource=status'));
      const annotations = { 'michelangelo/allow-downgrade': '1.4.0:1.3.2' };
      assertAllowed(await merge(type, 'main', { metadata: { annotations }, spec: { version: '1.3.2' } }), /Warning/);
    });

    it('is admitted with a warning where it begins to run one replica, and with none afterwards', async () => {
      const metadata = { labels: { changed: 'once' } };
      await eventually(() => create('Ingester', 'single', { spec: { version: '1.4.0' } }));
      const single = { components: { sync: { replicas: 1 } } };
      assertAllowed(await merge(type, 'single', { spec: single }), /Warning: spec\.components\.sync: one replica;/);
      const again = await merge(type, 'single', { metadata });
      assertAllowed(again);
      assert.doesNotMatch(again.stderr, /Warning/);
    });
  });

  describe('ingester-downgrade, after the resource was deleted', () => {
    it('compares a new Ingester with what was migrated before, and refuses a version that it cannot compare', async () => {
      const type = INGESTER_CRD;
      const again = (version: string, annotations: object = {}): object =>
        aManifest('Ingester', NS, 'again', {
          metadata: { name: 'again', namespace: NS, annotations },
          spec: { version },
        });
      await cluster.kubectl(
        ...['patch', 'configmap', '-n', 'ingester-system', 'ingester-admission-record', '--type=merge'],
        ...['-p', JSON.stringify({ data: { [`migrated.${NS}.again`]: '1.4.0' } })],
      );
      const message =
        /^spec\.version 1\.3\.2 is older than the migrated version; to permit it .*=version:1\.3\.2 \(docs\/admission\.md#[a-z-]+\)$/;
      await eventually(async () => assertRefused(await cluster.create(again('1.3.2')), message));
      assertAllowed(await cluster.create(again('1.4.0')));
      assertAllowed(await run('delete', type, '-n', NS, 'again'));
      const permitted = again('1.3.2', { 'michelangelo/allow-downgrade': '1.4.0:1.3.2' });
      assertAllowed(await cluster.create(permitted), /Warning: .*is older than the migrated/);
      assertAllowed(await run('delete', type, '-n', NS, 'again'));
    });

    it('refuses with a doubt, and stays ready, where the webhook may not read what was migrated', async () => {
      const binding = ['rolebinding', '-n', 'ingester-system', 'ingester-admission-record'] as const;
      const { stdout } = await run('get', ...binding, '-o', 'json');
      const { apiVersion, kind: type, metadata, ...rest } = JSON.parse(stdout) as KubernetesObject;
      const first = (annotations: object = {}): Promise<Result> =>
        withInput(
          aManifest('Ingester', NS, 'first', {
            metadata: { name: 'first', namespace: NS, annotations },
            spec: { version: '1.5.0' },
          }),
          ...['create', '--dry-run=server'],
        );
      assertAllowed(await run('delete', ...binding));
      const doubt =
        /^what was migrated for an Ingester first before is unknown; to permit it .*=unknown:1\.5\.0 \(docs\/admission\.md#[a-z-]+\)$/;
      await eventually(async () => assertRefused(await first(), doubt));
      assertAllowed(await first({ 'michelangelo/allow-downgrade': 'unknown:1.5.0' }), /Warning: what was migrated/);
      assert.equal((await probe(bundle().webhookHealthPort, '/readyz')).status, 200);
      const { name, namespace } = metadata;
      await cluster.apply({ apiVersion, kind: type, metadata: { name, namespace }, ...rest });
      await eventually(async () => assertAllowed(await first()));
    });
  });

  describe('api-version-downgrade', () => {
    it('refuses to change through v2 an object that was written through v3', async () => {
      const crd = 'clusters.michelangelo.api';
      const { stdout } = await cluster.tryKubectl('get', 'crd', crd, '-o', 'json');
      const [v2] = (JSON.parse(stdout) as { spec: { versions: object[] } }).spec.versions;
      const added = [{ op: 'add', path: '/spec/versions/-', value: { ...v2, name: 'v3', storage: false } }];
      assertAllowed(await run('patch', 'crd', crd, '--type=json', '-p', JSON.stringify(added)));
      const manifest = {
        ...aManifest('Cluster', NS, 'newer', { spec: { region: 'a' } }),
        apiVersion: 'michelangelo.api/v3',
      };
      await eventually(async () => assertAllowed(await cluster.create(manifest)));
      const change = { spec: { region: 'b' } };
      const message =
        /^a write through v2 would drop what v3 added; write v3, or to permit it set annotation .*=v2 \(docs\/admission\.md#[a-z-]+\)$/;
      assertRefused(await merge('clusters.v2.michelangelo.api', 'newer', change), message);
      assertAllowed(await merge('clusters.v2.michelangelo.api', 'newer', { metadata: { labels: { a: 'b' } } }));
      assertAllowed(await merge('clusters.v3.michelangelo.api', 'newer', change));
    });
  });

  describe('nothing is wedged', () => {
    it('the rules let the reconciler evict and delete marked objects, and users delete the rest', async () => {
      await bundle().reconciler.start();
      await eventually(async () => {
        for (const name of ['marked-0', 'marked-1'])
          assert.equal(await cluster.get(kind('Model'), NS, name), undefined);
      });
      assertAllowed(await run('delete', 'rayclusters.michelangelo.api', '-n', NS, 'ray'));
    });
  });

  describe('crd-downgrade and crd-deletion', () => {
    const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties';
    const without = (property: string): string => JSON.stringify([{ op: 'remove', path: `${path}/${property}` }]);
    const patchCrd = (plural: string, patch: string): Promise<Result> =>
      run('patch', 'crd', `${plural}.michelangelo.api`, '--type=json', '-p', patch);

    it('refuses a property to go while objects exist, and allows exactly that with the annotation', async () => {
      await create('SparkJob', 'job', { spec: { mainClass: 'a', mainArgs: ['b'] } });
      const refused = await patchCrd('sparkjobs', without('mainClass'));
      assertRefused(
        refused,
        /^v2: spec\.mainClass: property removed; it has objects with a value there; to permit it set annotation/,
      );
      const target = /allow-downgrade=([0-9a-f]{12})/.exec(refused.stderr)?.[1] ?? '';
      assertAllowed(
        await run('annotate', 'crd', 'sparkjobs.michelangelo.api', `michelangelo/allow-downgrade=${target}`),
      );
      assertRefused(await patchCrd('sparkjobs', without('mainArgs')), /spec\.mainArgs: property removed/);
      assertAllowed(
        await patchCrd('sparkjobs', without('mainClass')),
        /Warning: v2: spec\.mainClass: property removed/,
      );
    });

    it('allows a property to go, with a warning, where there is neither an object nor an archived row', async () => {
      await eventually(async () =>
        assertAllowed(await patchCrd('triggerruns', without('autoFlip')), /Warning: .*it has no objects/),
      );
    });

    it('counts archived rows where all objects are concerned, and does not guess while the database is away', async () => {
      const withoutStatus = JSON.stringify([{ op: 'remove', path: '/spec/versions/0/subresources/status' }]);
      await bundle().database.query(
        'INSERT INTO `revision` (`uid`, `group_ver`, `namespace`, `name`, `res_version`, `generation`, `content_hash`, ' +
          '`create_time`, `update_time`, `row_state`, `proto`, `json`) ' +
          "VALUES ('u', 'michelangelo.api/v2', 'gone', 'r', 1, 1, '', NOW(6), NOW(6), 2, '', '{}')",
      );
      await eventually(async () => assertRefused(await patchCrd('revisions', withoutStatus), /it has objects/));
      await bundle().databaseLink.cut();
      assertRefused(await patchCrd('pipelines', withoutStatus), /it may have objects/);
      await bundle().databaseLink.heal();
      await eventually(async () => assertAllowed(await patchCrd('pipelines', withoutStatus), /no objects/));
    });

    it('allows additions and leaves status, labels and CRDs of others alone', async () => {
      const added = JSON.stringify([{ op: 'add', path: `${path}/added`, value: { type: 'string' } }]);
      assertAllowed(await patchCrd('sparkjobs', added));
      assertAllowed(await run('label', 'crd', 'sparkjobs.michelangelo.api', 'team=a'));
    });

    it('deletes a CRD only with the annotation on it', async () => {
      const crd = 'triggerruns.michelangelo.api';
      const message =
        /deleting CRD triggerruns\.michelangelo\.api deletes all its objects; to permit it set annotation/;
      assertRefused(await run('delete', 'crd', crd), message);
      assertRefused(await run('delete', 'crd', crd, '--dry-run=server'), message);
      assertRefused(await run('delete', 'crd', '--all'), /deletes all its objects/);
      assertAllowed(await run('annotate', 'crd', crd, 'michelangelo/allow-crd-delete=true'));
      assertAllowed(await run('delete', 'crd', crd));
    });

    it('compares a CRD that is created with the CRD that was deleted before, while archived rows are left', async () => {
      const crd = 'revisions.michelangelo.api';
      const { stdout } = await run('get', 'crd', crd, '-o', 'json');
      const { spec } = JSON.parse(stdout) as { readonly spec: CrdSpec };
      const manifest = (changed: object, annotations: object = {}): object => ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: crd, annotations },
        spec: changed,
      });
      const narrow = structuredClone(spec);
      delete narrow.versions[0]?.schema.openAPIV3Schema.properties.spec.properties['gitRef'];
      await eventually(async () => {
        const record = await run(
          'get',
          'configmap',
          '-n',
          'ingester-system',
          'ingester-admission-record',
          '-o',
          'json',
        );
        const { data = {} } = JSON.parse(record.stdout) as { readonly data?: Readonly<Record<string, string>> };
        assert.equal(data['rows.revisions'], 'some');
        assert.deepEqual(JSON.parse(data['crd.revisions'] ?? '{}'), spec);
      }, 120_000);
      assertAllowed(await run('annotate', 'crd', crd, 'michelangelo/allow-crd-delete=true'));
      assertAllowed(await run('delete', 'crd', crd, '--timeout=120s'));
      const refused = await withInput(manifest(narrow), 'apply');
      assertRefused(
        refused,
        /^spec: less than the last CRD of this name had; it has archived objects; to permit it set annotation/,
      );
      assertRefused(await withInput(manifest(narrow), 'create'), /less than the last CRD/);
      const target = /allow-downgrade=([0-9a-f]{12})/.exec(refused.stderr)?.[1] ?? '';
      const permitted = manifest(narrow, { 'michelangelo/allow-downgrade': target });
      assertAllowed(await withInput(permitted, 'create', '--dry-run=server'), /Warning: .*less than the last CRD/);
      assertAllowed(await withInput(manifest(spec), 'apply'));
    });
  });

  it('let a namespace go with all the objects in it', async () => {
    assertAllowed(await run('delete', 'namespace', NS));
  });
});
