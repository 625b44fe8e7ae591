// Beside the original's API server, which brings its own CRDs along and does not start where it cannot: in both orders of
// installation, with objects of every kind from before and after, with the webhook and without, and with what Argo CD and Flux
// apply again.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import { catalogue } from '../../src/kinds/catalogue.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import { ApiServer } from '../support/api-server.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { incompatibilities, versionsOf } from '../support/original/crd-compare.ts';
import { OriginalApiServer, shippedSettings } from '../support/original/crd-sync.ts';
import { originalCrds } from '../support/original/crds.ts';
import { useBundle } from '../support/use-bundle.ts';

const root = join(import.meta.dirname, '../..');
const NS = 'ingester-test';
const theirs = await originalCrds();
const skip = theirs === undefined ? 'needs Go on PATH to fetch the definitions of Kubernetes' : false;
const original = (kubeconfig: string, crds = theirs ?? []): OriginalApiServer =>
  new OriginalApiServer(new ApiServer(kubeconfig), crds);
const cachedOutput = aManifest('CachedOutput', NS, 'cached', { spec: { zone: 'a', rawModelSpec: { id: '1' } } });

function ourCrd({ plural, optional }: { readonly plural: string; readonly optional: boolean }): JsonObject {
  const folder = optional ? 'crds/optional' : 'crds';
  return parse(readFileSync(join(root, folder, `${plural}.michelangelo.api.yaml`), 'utf8')) as JsonObject;
}

/** The CRDs of another release of the original, whose kind lacks a field of the spec. */
function without(plural: string, field: string): readonly JsonObject[] {
  return (theirs ?? []).map((crd) => {
    if (!isOf(plural, crd)) return crd;
    const copy = structuredClone(crd);
    const properties = valueAt(versionsOf(copy)[0], ['schema', 'openAPIV3Schema', 'properties', 'spec', 'properties']);
    assert.ok(isJsonObject(properties) && Reflect.deleteProperty(properties, field), field);
    return copy;
  });
}

/** A kind that neither this release of the original nor we know. */
function newerKind(kindName: string, plural: string): JsonObject {
  const names = { kind: kindName, listKind: `${kindName}List`, plural, singular: kindName.toLowerCase() };
  const like = ourCrd(kind('Cluster'));
  const spec = like['spec'] as JsonObject;
  return { ...like, metadata: { name: `${plural}.michelangelo.api` }, spec: { ...spec, names } };
}

function isOf(plural: string, crd: JsonObject): boolean {
  return valueAt(crd, ['metadata', 'name']) === `${plural}.michelangelo.api`;
}

describe('our CRDs and those of the original', { skip }, () => {
  for (const entry of catalogue) {
    it(`pass the comparison of the original in both directions: ${entry.kind}`, () => {
      const his = (theirs ?? []).find((crd) => isOf(entry.plural, crd));
      assert.ok(his !== undefined);
      assert.deepEqual(incompatibilities(ourCrd(entry), his), []);
      assert.deepEqual(incompatibilities(his, ourCrd(entry)), []);
    });
  }

  it('are told apart by it where a field is gone', () => {
    const [project] = without('projects', 'tier');
    assert.deepEqual(incompatibilities(ourCrd(kind('Project')), project ?? {}), ['v2.spec.tier is gone']);
  });
});

for (const first of ['the original', 'the Ingester'] as const) {
  describe(`the API server of the original, in a cluster where ${first} has installed the CRDs`, { skip }, () => {
    const program = shippedSettings['program'] ?? assert.fail();
    const bundle = useBundle({
      ...(first === 'the original'
        ? {
            // Its objects are there before any program of ours.
            installCrds: async ({ controlPlane }) => {
              await original(controlPlane.kubeconfig).start(program);
              await eventually(() => controlPlane.kubectlRun(['apply', '-k', join(root, 'config/samples')]));
            },
          }
        : {}),
    });
    let cluster: Cluster;
    const start = (crds = theirs ?? [], settings = program): Promise<readonly string[]> =>
      original(bundle().controlPlane.kubeconfig, crds).start(settings);
    const rows = async (): Promise<readonly string[]> => {
      const found = await Promise.all(
        defaultKinds.map(async (each) => [each.kind, await cluster.rows(each, NS)] as const),
      );
      return found.flatMap(([name, stored]) => stored.map((row) => `${name} ${String(row['uid'])}`));
    };

    before(async () => {
      cluster = new Cluster(bundle());
      if (first === 'the Ingester')
        await cluster.kubectl('apply', '-f', join(root, 'crds/optional/cachedoutputs.michelangelo.api.yaml'));
      await cluster.kubectl('apply', '-k', 'config/samples');
      await eventually(() => cluster.apply(cachedOutput));
      await eventually(async () => assert.equal((await rows()).length, defaultKinds.length));
    });

    it('starts again and again with objects of every kind, whatever its settings are', async () => {
      for (const settings of Object.values(shippedSettings)) {
        await start(undefined, settings);
        await start(undefined, settings);
      }
      await cluster.kubectl('get', 'crd', 'ingesters.ingester.michelangelo.api');
    });

    for (const manager of ['argocd-controller', 'kustomize-controller']) {
      it(`starts after ${manager} has applied our CRDs again, which nothing refuses`, async () => {
        const apply = ['apply', '--server-side', '--force-conflicts', '--field-manager', manager, '-k', 'crds'];
        for (let round = 0; round < 2; round += 1) {
          await cluster.kubectl(...apply);
          assert.notDeepEqual(await start(), []);
        }
      });
    }

    it('leaves objects and rows as they were, and new ones are stored', async () => {
      const before = await rows();
      assert.equal(before.length, defaultKinds.length);
      await start();
      await cluster.apply(aManifest('Model', NS, 'later', { spec: { algorithm: 'xgboost' } }));
      await eventually(async () =>
        assert.equal((await cluster.row(kind('Model'), NS, 'later'))['algorithm'], 'xgboost'),
      );
      await cluster.kubectl('delete', 'models.michelangelo.api', 'later', '-n', NS, '--wait=false');
      await cluster.gone(kind('Model'), NS, 'later');
      assert.deepEqual(
        (await rows()).filter((row) => before.includes(row)),
        before,
      );
    });

    it('cannot take a field away that an object has, and can take one that no object has', async () => {
      const forced = { enableCRDDeletion: false, skipIncompatibleCheck: true };
      // The first question connects the webhook to the API server, which may take longer than a busy machine gives.
      await eventually(() =>
        assert.rejects(
          start(without('projects', 'gitRepo'), forced),
          /spec\.gitRepo: property removed; it has objects with a value there/,
        ),
      );
      await eventually(() => start(without('projects', 'supportingLinks'), forced));
      await start();
    });

    it('takes away the kind of a newer release that has no object, and does not start where it has one', async () => {
      const metrics = newerKind('Metric', 'metrics');
      const name = 'metrics.michelangelo.api';
      await cluster.apply(metrics);
      await cluster.kubectl('wait', '--for=condition=Established', `crd/${name}`);
      await cluster.apply(aManifest('Metric', NS, 'one'));
      await assert.rejects(start(), /failed to delete CRD metrics\.michelangelo\.api\. There are existing resources/);
      const refused = await cluster.tryKubectl('delete', 'crd', name);
      assert.match(refused.stderr, /deleting CRD metrics\.michelangelo\.api deletes all its objects/);
      await cluster.kubectl('delete', name, 'one', '-n', NS);
      await eventually(() => start());
      await eventually(async () => assert.notEqual((await cluster.tryKubectl('get', 'crd', name)).code, 0));
    });

    it('names the field managers in conflict where our CRDs are applied without force', async () => {
      const { code, stderr } = await cluster.tryKubectl('apply', '--server-side', '-k', 'crds');
      assert.notEqual(code, 0);
      assert.match(stderr, /conflict with "apiserver".*\.spec\.versions/s);
      await cluster.kubectl('apply', '--server-side', '--force-conflicts', '-k', 'crds');
      await start();
    });

    it('starts where nothing of ours asks about definitions any more', async () => {
      const rules = [
        'mutatingwebhookconfiguration/ingester-finalizer',
        'validatingwebhookconfiguration/ingester-rules',
      ];
      await cluster.kubectl('delete', ...rules);
      for (const settings of Object.values(shippedSettings)) await start(undefined, settings);
      assert.equal((await rows()).filter((row) => !row.startsWith('Model ')).length, defaultKinds.length - 1);
    });

    it('can still list RayClusters after a user has tried one with the volumes of Kubernetes', async () => {
      const ray = (name: string, volume: object): object =>
        aManifest('RayCluster', NS, name, {
          spec: { head: { pod: { spec: { volumes: [{ name: 'v', ...volume }] } } } },
        });
      await assert.rejects(
        cluster.apply(ray('refused', { emptyDir: {} })),
        /unknown field "spec\.head\.pod\.spec\.volumes\[0\]\.emptyDir"/,
      );
      await cluster.apply(ray('pruned', { emptyDir: {} }), '--validate=false');
      await cluster.apply(ray('whole', { volumeSource: { emptyDir: { medium: 'Memory' } } }));
      const volumesOf = async (name: string): Promise<unknown> => {
        const { spec } = JSON.parse(
          await cluster.kubectl('get', 'rayclusters.michelangelo.api', name, '-n', NS, '-o', 'json'),
        ) as { readonly spec: { readonly head: { readonly pod: { readonly spec: { readonly volumes: unknown } } } } };
        return spec.head.pod.spec.volumes;
      };
      assert.deepEqual(await volumesOf('pruned'), [{ name: 'v' }]);
      assert.deepEqual(await volumesOf('whole'), [{ name: 'v', volumeSource: { emptyDir: { medium: 'Memory' } } }]);
    });
  });
}

describe('a reconciler that starts beside a CRD that lacks what it needs', { skip }, () => {
  const bare = without('triggerruns', 'autoFlip').map((crd) => {
    const copy = structuredClone(crd);
    const [version = {}] = isOf('clusters', copy) ? versionsOf(copy) : [];
    Reflect.deleteProperty(version, 'subresources');
    return copy;
  });
  const bundle = useBundle({
    installCrds: ({ controlPlane }) => original(controlPlane.kubeconfig, bare).start({ enableCRDDeletion: false }),
  });

  it('says so with what is missing, and which columns stay empty', async () => {
    const cluster = new Cluster(bundle());
    await eventually(() => {
      const log = cluster.reconcilerLog();
      assert.match(log, /CRD clusters\.michelangelo\.api lacks what the Ingester needs: it has no status subresource/);
      assert.match(log, /CRD triggerruns\.michelangelo\.api lacks the fields of columns, which stay empty/);
      assert.doesNotMatch(log, /CRD (models|projects|pipelineruns)\.michelangelo\.api lacks/);
      return Promise.resolve();
    });
  });
});
