// Every way to create an object ends with the finalizer on it, for each of the 13 plurals.
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { before, describe, it } from 'node:test';
import { createAuthority } from '../../hack/local/certificates.ts';
import { FINALIZER } from '../../src/api/names.ts';
import type { JsonObject, JsonValue } from '../../src/base/json.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import { contentTypes, pathOf } from '../support/api-server.ts';
import { reviewedIn, startBadWebhook } from '../support/bad-webhook.ts';
import { aManifest, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useAdmission } from '../support/use-admission.ts';

const NS = 'creates';
const Model = kind('Model');
const Run = kind('PipelineRun');
const APPLY = `?fieldManager=a-test&force=true`;

describe('creating objects on a real API server', () => {
  const admission = useAdmission();
  before(() => admission().api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: NS } } }));

  const model = (metadata: object, spec: object = {}): object => ({ ...aManifest('Model', NS, ''), metadata, spec });
  const create = (body: object, query = '') =>
    admission().api.must({ method: 'POST', path: `${pathOf(Model, NS)}${query}`, body });
  const get = (name: string, of = Model) => admission().api.must({ method: 'GET', path: pathOf(of, NS, name) });

  for (const [how, ...args] of [
    ['created', 'create'],
    ['saved', 'create', '--save-config'],
    ['applied', 'apply'],
    ['applied-by-server', 'apply', '--server-side'],
  ] as const) {
    it(`11: guards an object of every kind made by kubectl ${args.join(' ')}`, async () => {
      const items = defaultKinds.map((each) => aManifest(each.kind, NS, how, { spec: {} }));
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      await admission().controlPlane.kubectlRun([...args, '-f', '-'], { input });
      const made = await Promise.all(defaultKinds.map((each) => get(how, each)));
      for (const { kind: type, metadata } of made) assert.deepEqual(metadata.finalizers, [FINALIZER], type);
    });
  }

  for (const each of defaultKinds) {
    it(`11: guards ${each.plural} that a server-side apply patch creates, and ${each.plural} that replace --force creates anew`, async () => {
      const body = aManifest(each.kind, NS, 'patched', { spec: {} });
      const path = `${pathOf(each, NS, 'patched')}${APPLY}`;
      const { metadata } = await admission().api.must({ method: 'PATCH', path, body, contentType: contentTypes.apply });
      assert.deepEqual(metadata.finalizers, [FINALIZER]);
      // There is no reconciler here, so the finalizer is removed by hand while kubectl waits for its end.
      const input = JSON.stringify(body);
      const replaced = admission().controlPlane.kubectlRun(['replace', '--force', '-f', '-'], { input });
      await removeFinalizer(each.plural, metadata.uid);
      await replaced;
      const after = (await get('patched', each)).metadata;
      assert.notEqual(after.uid, metadata.uid);
      assert.deepEqual(after.finalizers, [FINALIZER]);
    });
  }

  /** Takes the finalizer off as soon as the object is being deleted. */
  async function removeFinalizer(plural: string, uid: string): Promise<void> {
    const path = pathOf({ plural }, NS, 'patched');
    for (;;) {
      const { body } = await admission().api.call({ method: 'GET', path });
      if (body.metadata.uid === uid && body.metadata.deletionTimestamp !== undefined) break;
    }
    const body = { metadata: { finalizers: null } };
    await admission().api.must({ method: 'PATCH', path, body, contentType: contentTypes.merge });
  }

  it('12: guards 100 objects with generated names, created at once', async () => {
    const made = await Promise.all(Array.from({ length: 100 }, () => create(model({ generateName: 'generated-' }))));
    assert.equal(new Set(made.map(({ metadata }) => metadata.name)).size, 100);
    for (const { metadata } of made) assert.deepEqual(metadata.finalizers, [FINALIZER]);
  });

  it('13: shows the finalizer in a server-side dry run, persists nothing and counts nothing', async () => {
    const decided = 'ingester_admission_decisions_total{policy="finalizer",outcome="changed"}';
    const before = await admission().metric(decided);
    const { metadata } = await create(model({ name: 'dry' }), '?dryRun=All');
    assert.deepEqual(metadata.finalizers, [FINALIZER]);
    assert.equal((await admission().api.call({ method: 'GET', path: pathOf(Model, NS, 'dry') })).status, 404);
    assert.equal(await admission().metric(decided), before);
    await create(model({ name: 'wet' }));
    assert.equal(await admission().metric(decided), before + 1);
  });

  it('14: an ordinary create makes one call, also where the object already carries the finalizer', async () => {
    const before = [await admission().calls(), await admission().calls('/validate')] as const;
    const { metadata } = await create(model({ name: 'carries', finalizers: ['example.com/a', FINALIZER] }));
    assert.deepEqual(metadata.finalizers, ['example.com/a', FINALIZER]);
    await create(model({ name: 'carries-not' }));
    assert.deepEqual([await admission().calls(), await admission().calls('/validate')], [before[0] + 2, before[1]]);
  });

  it('14: what a webhook that is called later makes of a new object is judged too', async () => {
    const nested = Array.from({ length: 40 }).reduce<JsonValue>((inner) => ({ a: inner }), 1);
    const stop = await mutateLater({
      marks: { path: '/metadata/annotations', value: { 'michelangelo/Deleting': 'true' } },
      nests: { path: '/spec', value: { input: nested } },
    });
    try {
      for (const [name, message] of [
        ['marks', /must not carry michelangelo.Deleting.*#protect-marks/],
        ['nests', /nested deeper than 30 levels.*#nesting-depth/],
      ] as const) {
        await eventually(async () => {
          const path = `${pathOf(Run, NS)}?dryRun=All`;
          const { status, body } = await admission().api.call({
            method: 'POST',
            path,
            body: aManifest('PipelineRun', NS, name),
          });
          assert.equal(status, 403, body.message);
          assert.match(body.message ?? '', message);
        });
      }
    } finally {
      await stop();
    }
  });

  /** Another vendor's webhook, which the API server calls after ours: what it adds to the object of a name. */
  const mutateLater = async (additions: Readonly<Record<string, JsonObject>>): Promise<() => Promise<void>> => {
    const authority = await createAuthority('later-webhook-ca');
    const listener: RequestListener = (call, answer) => {
      void reviewedIn(call).then(({ uid, name }) => {
        const patch = Buffer.from(JSON.stringify([{ op: 'add', ...additions[name] }])).toString('base64');
        const response = { uid, allowed: true, ...(name in additions ? { patchType: 'JSONPatch', patch } : {}) };
        answer.setHeader('content-type', 'application/json');
        answer.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }));
      });
    };
    const server = await startBadWebhook({ authority, listener });
    const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
    const rule = { apiGroups: ['michelangelo.api'], apiVersions: ['v2'], operations: ['CREATE'], resources: ['*'] };
    const webhook = {
      name: 'later.example.com',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      clientConfig: { url: server.url, caBundle: Buffer.from(authority.caPem).toString('base64') },
      rules: [rule],
      failurePolicy: 'Ignore',
    };
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'zz-later' },
      webhooks: [webhook],
    };
    await admission().api.must({ method: 'POST', path, body });
    return async () => {
      await admission().api.must({ method: 'DELETE', path: `${path}/zz-later` });
      server.close();
    };
  };

  it('keeps the finalizers of others and adds our finalizer once', async () => {
    const finalizersOf = async (name: string, finalizers: readonly string[] | null): Promise<unknown> =>
      (await create(model({ name, finalizers }))).metadata.finalizers;
    assert.deepEqual(await finalizersOf('others', ['example.com/a', 'example.com/b']), [
      'example.com/a',
      'example.com/b',
      FINALIZER,
    ]);
    assert.deepEqual(await finalizersOf('empty', []), [FINALIZER]);
    assert.deepEqual(await finalizersOf('null', null), [FINALIZER]);
    assert.deepEqual(await finalizersOf('twice', [FINALIZER, FINALIZER]), [FINALIZER, FINALIZER]);
  });

  it('15: refuses an object that is created to be deleted, however it is created, and guards one created to be evicted', async () => {
    for (const mark of ['michelangelo/Deleting', 'michelangelo/Immutable']) {
      const annotations = { [mark]: 'true' };
      const named = { ...model({ name: 'born-marked', annotations }) };
      const applied = { method: 'PATCH', path: `${pathOf(Model, NS, 'born-marked')}${APPLY}` } as const;
      const answers = [
        await admission().api.call({ method: 'POST', path: `${pathOf(Model, NS)}?dryRun=All`, body: named }),
        await admission().api.call({ method: 'POST', path: pathOf(Model, NS), body: named }),
        await admission().api.call({
          ...{ method: 'POST', path: pathOf(Model, NS) },
          body: model({ generateName: 'born-', annotations }),
        }),
        await admission().api.call({ ...applied, body: named, contentType: contentTypes.apply }),
      ];
      for (const { status, body } of answers) {
        if (mark === 'michelangelo/Immutable') {
          assert.ok(status < 300, body.message);
          assert.deepEqual(body.metadata.finalizers, [FINALIZER]);
          continue;
        }
        assert.equal(status, 403, body.message);
        assert.match(body.message ?? '', /a new object must not (carry|be marked)/);
      }
      if (mark === 'michelangelo/Immutable') continue;
      assert.equal((await admission().api.call({ method: 'GET', path: pathOf(Model, NS, 'born-marked') })).status, 404);
    }
  });

  it('16: guards a create through another served version of the API', async () => {
    const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/projects.michelangelo.api`;
    const { spec } = (await admission().api.must({ method: 'GET', path: crd })) as unknown as {
      spec: { versions: object[] };
    };
    const older = { ...spec.versions[0], name: 'v1', served: true, storage: false };
    const body = { spec: { versions: [...spec.versions, older] } };
    await admission().api.must({ method: 'PATCH', path: crd, body, contentType: contentTypes.merge });
    const path = pathOf(kind('Project'), NS).replace('/v2/', '/v1/');
    const project = { apiVersion: 'michelangelo.api/v1', kind: 'Project', metadata: { name: 'older-version' } };
    let answer = await admission().api.call({ method: 'POST', path, body: project });
    // The API server needs a moment to serve the new version.
    while (answer.status === 404) answer = await admission().api.call({ method: 'POST', path, body: project });
    assert.equal(answer.status, 201, answer.body.message);
    assert.deepEqual(answer.body.metadata.finalizers, [FINALIZER]);
  });

  it('17: the webhook is not called for kinds of other groups, though they have the same name', async () => {
    const before = [await admission().calls(), await admission().calls('/validate')];
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'b' }] } };
    const deployment = { metadata: { name: 'a' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
    const apps = `/apis/apps/v1/namespaces/${NS}/deployments`;
    await admission().api.must({ method: 'POST', path: apps, body: deployment });
    const configMap = { metadata: { name: 'a' } };
    await admission().api.must({ method: 'POST', path: `/api/v1/namespaces/${NS}/configmaps`, body: configMap });
    assert.deepEqual([await admission().calls(), await admission().calls('/validate')], before);
  });

  it('18: leaves the finalizer without an owner, so that no server-side apply takes it away', async () => {
    const path = pathOf(Model, NS, 'owned');
    for (const manager of ['argocd-controller', 'kustomize-controller', 'argocd-controller']) {
      const body = aManifest('Model', NS, 'owned', { spec: { algorithm: manager } });
      const query = `?fieldManager=${manager}&force=true`;
      await admission().api.must({ method: 'PATCH', path: `${path}${query}`, body, contentType: contentTypes.apply });
    }
    const { metadata } = await get('owned');
    assert.deepEqual(metadata.finalizers, [FINALIZER]);
    assert.doesNotMatch(JSON.stringify(metadata['managedFields']), /f:finalizers/);
  });

  it('refuses what the schema does not allow, before anything is stored', async () => {
    const body = model({ name: 'wrong' }, { kind: 'NO_SUCH_KIND', revisionId: 'x' });
    const { status, body: answer } = await admission().api.call({ method: 'POST', path: pathOf(Model, NS), body });
    assert.equal(status, 422);
    assert.match(answer.message ?? '', /spec\.kind.*Unsupported value/s);
    assert.match(answer.message ?? '', /spec\.revisionId.*must be of type integer/s);
  });

  it('gives the reconciler exactly the rights it needs', async () => {
    // As "kubectl auth can-i" asks.
    const can = async (verb: string, resource: string, group = 'michelangelo.api'): Promise<boolean> => {
      const { status } = await admission().api.must({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        body: { spec: { resourceAttributes: { namespace: NS, verb, resource, group } } },
        as: 'system:serviceaccount:ingester-system:ingester-reconciler',
      });
      return (status as { readonly allowed: boolean }).allowed;
    };
    for (const { plural } of defaultKinds) {
      for (const verb of ['get', 'list', 'watch', 'patch', 'delete']) {
        assert.ok(await can(verb, plural), `${verb} ${plural}`);
      }
    }
    for (const verb of ['create', 'update', 'deletecollection']) {
      assert.ok(!(await can(verb, 'models')), verb);
    }
    for (const [resource, group] of [
      ['secrets', ''],
      ['configmaps', ''],
      ['deployments', 'apps'],
      ['cachedoutputs', 'michelangelo.api'],
    ] as const) {
      assert.ok(!(await can('get', resource, group)), resource);
    }
  });
});
