// "No unguarded write": every way to create or change an object, with any metadata a client may write, ends with the
// finalizer on what is stored. Each attack is tried on the webhook and on the policies that replace it.
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { INGESTER_GROUP, INGESTER_VERSION } from '../../src/api/ingester/spec.ts';
import { FINALIZER, UNGUARDED_ANNOTATION } from '../../src/api/names.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import { type ApiAnswer, type ApiCall, contentTypes, pathOf } from '../support/api-server.ts';
import { inBothVariants, OWNER, WRITER } from '../support/both-variants.ts';
import { aManifest, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const Model = kind('Model');
const APPLY = { contentType: contentTypes.apply } as const;

/** What a client writes into a manifest for the API server to take it for an object that is being deleted. */
const forgeries: readonly object[] = [
  { deletionTimestamp: '1999-01-01T00:00:00Z' },
  { deletionTimestamp: '2999-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 },
  { deletionTimestamp: '1999-01-01T00:00:00Z', finalizers: [FINALIZER] },
  { deletionTimestamp: '1999-01-01T00:00:00Z', finalizers: ['example.com/other'] },
];

const query = (...parts: readonly string[]): string => `?${parts.join('&')}`;
const MANAGER = ['fieldManager=attacker', 'force=true'];

/** Every operation that makes an object where there was none. */
function creates(collection: string, body: { readonly metadata: { readonly name: string } }): readonly ApiCall[] {
  const { name, ...unnamed } = body.metadata;
  const generated = { ...body, metadata: { ...unnamed, generateName: `${name}-` } };
  const path = `${collection}/${name}`;
  const dry = 'dryRun=All';
  return [
    { method: 'PATCH', path: path + query(...MANAGER, dry), body, ...APPLY },
    { method: 'PATCH', path: path + query(...MANAGER), body, ...APPLY },
    { method: 'POST', path: collection + query(dry), body },
    { method: 'PUT', path, body },
    { method: 'POST', path: collection, body: generated },
    { method: 'POST', path: collection, body },
  ];
}

const aCrd = (plural: string, metadata: object): { metadata: { name: string } } => ({
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  metadata: { ...metadata, name: `${plural}.michelangelo.api` },
  ...{
    spec: {
      ...{ group: 'michelangelo.api', scope: 'Namespaced', names: { plural, kind: plural.toUpperCase() } },
      versions: [{ name: 'v2', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  },
});

inBothVariants('no unguarded write', ({ admission, namespace: NS, variant }) => {
  const call = (request: ApiCall): Promise<ApiAnswer> => admission().api.call(request);
  const ingesters = `/apis/${INGESTER_GROUP}/${INGESTER_VERSION}/namespaces/${NS}/ingesters`;
  const must = (request: ApiCall): Promise<ApiAnswer['body']> => admission().api.must(request);

  before(async () => {
    // Stands in for the CRD of the lifecycle, whose schema asks for a whole installation.
    await admission().controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(anyIngester) });
    const body = { ...anIngester, metadata: { name: 'first' } };
    await eventually(() => must({ method: 'POST', path: `${ingesters}?dryRun=All`, body }));
  });

  /** Refused for what it is, or made as if the fields had not been there. */
  const assertNotBornDeleting = ({ status, body }: ApiAnswer, request: ApiCall, guarded: boolean): void => {
    const what = `${request.method} ${request.path}: ${status} ${body.message ?? ''}`;
    if (request.method === 'PATCH') {
      assert.equal(status, 403, what);
      assert.match(body.message ?? '', /a new object must not carry metadata\.deletion/, what);
    } else if (status < 300) {
      assert.equal(body.metadata.deletionTimestamp, undefined, what);
      assert.equal(body.metadata['deletionGracePeriodSeconds'], undefined, what);
      assert.equal(body.metadata.finalizers?.includes(FINALIZER) ?? false, guarded, what);
    } else assert.ok(request.method === 'PUT' && status === 404, what);
  };

  const attack = async (collection: string, body: { metadata: { name: string } }, guarded: boolean): Promise<void> => {
    for (const request of creates(collection, body)) {
      assertNotBornDeleting(await call(request), request, guarded);
    }
  };

  for (const { kind: kindName, plural } of defaultKinds) {
    it(`admission refuses a ${kindName} that says of itself that it is being deleted, however it is created`, async () => {
      for (const [index, forged] of forgeries.entries()) {
        const name = `forged-${index}`;
        const body = { ...aManifest(kindName, NS, name, { spec: {} }), metadata: { ...forged, name } };
        await attack(pathOf({ plural }, NS), body, true);
      }
    });
  }

  it('admission refuses an Ingester that says of itself that it is being deleted, however it is created', async () => {
    const metadata = { name: 'main', deletionTimestamp: '1999-01-01T00:00:00Z' };
    const body = { ...anIngester, metadata };
    await attack(ingesters, body, false);
  });

  it('admission refuses a CRD of the group that says of itself that it is being deleted, however it is created', async () => {
    for (const request of creates(CRDS, aCrd(`gadgetsof${variant}`, { deletionTimestamp: '1999-01-01T00:00:00Z' }))) {
      // A CRD cannot have a generated name.
      if (JSON.stringify(request.body).includes('generateName')) continue;
      assertNotBornDeleting(await call(request), request, false);
    }
  });

  it('admission takes a deletionTimestamp of null for none', async () => {
    const metadata = { name: 'null-time', deletionTimestamp: null, creationTimestamp: null };
    const body = { ...aManifest('Model', NS, 'null-time'), metadata };
    const path = pathOf(Model, NS, 'null-time') + query(...MANAGER);
    const made = await call({ method: 'PATCH', path, body, ...APPLY });
    assert.equal(made.status, 201, made.body.message);
    assert.deepEqual(made.body.metadata.finalizers, [FINALIZER]);
  });

  it('admission keeps the finalizer on an object whose update says that it is being deleted', async () => {
    const path = pathOf(Model, NS, 'updated');
    await must({ method: 'POST', path: pathOf(Model, NS), body: aManifest('Model', NS, 'updated') });
    const metadata = { name: 'updated', finalizers: [], deletionTimestamp: '1999-01-01T00:00:00Z' };
    const whole = { ...aManifest('Model', NS, 'updated'), metadata };
    const { resourceVersion } = (await must({ method: 'GET', path })).metadata;
    const updates: readonly ApiCall[] = [
      { method: 'PATCH', path: path + query(...MANAGER), body: whole, ...APPLY },
      {
        method: 'PATCH',
        path,
        body: { metadata: { ...metadata, finalizers: null } },
        contentType: contentTypes.merge,
      },
      { method: 'PUT', path, body: { ...whole, metadata: { ...metadata, resourceVersion } } },
      { method: 'PATCH', path: `${path}/status`, body: { metadata }, contentType: contentTypes.merge },
    ];
    for (const update of updates) {
      await call(update);
      const { metadata: after } = await must({ method: 'GET', path });
      assert.equal(after.deletionTimestamp, undefined);
      assert.deepEqual(after.finalizers, [FINALIZER], `${update.method} ${update.path}`);
    }
  });

  const optOut = { metadata: { annotations: { [UNGUARDED_ANNOTATION]: 'true' } } };
  const strip = { metadata: { finalizers: null } };
  const stripped = { metadata: { ...optOut.metadata, ...strip.metadata } };

  it('admission lets no user opt an object out who may not delete it, and guards the object all the same', async () => {
    const path = pathOf(Model, NS, 'opted-out');
    await must({ method: 'POST', path: pathOf(Model, NS), body: aManifest('Model', NS, 'opted-out') });
    const { resourceVersion } = (await must({ method: 'GET', path })).metadata;
    const whole = (metadata: object): object => ({ ...aManifest('Model', NS, 'opted-out'), metadata });
    const merge = { method: 'PATCH', path, contentType: contentTypes.merge, as: WRITER } as const;
    const attacks: readonly ApiCall[] = [
      { ...merge, body: optOut },
      { ...merge, body: stripped },
      { ...merge, body: optOut, path: `${path}?dryRun=All` },
      { method: 'PUT', path, body: whole({ ...optOut.metadata, name: 'opted-out', resourceVersion }), as: WRITER },
      {
        ...{ method: 'PATCH', path: path + query(...MANAGER), as: WRITER },
        ...{ body: whole({ ...optOut.metadata, name: 'opted-out' }), ...APPLY },
      },
      {
        ...{ method: 'POST', path: pathOf(Model, NS), as: WRITER },
        body: whole({ ...optOut.metadata, name: 'born-opted-out' }),
      },
      {
        ...{ method: 'POST', path: pathOf(Model, NS), as: WRITER },
        body: whole({ ...optOut.metadata, generateName: 'born-opted-out-' }),
      },
    ];
    for (const request of attacks) {
      const { status, body } = await call(request);
      assert.equal(status, 403, `${request.method} ${request.path}: ${body.message ?? ''}`);
      assert.match(body.message ?? '', /needs the right to delete/);
    }
    await call({ ...merge, body: strip });
    const { metadata } = await must({ method: 'GET', path });
    assert.deepEqual(metadata.finalizers, [FINALIZER]);
    assert.equal(metadata.annotations?.[UNGUARDED_ANNOTATION], undefined);
  });

  it('admission lets a user opt an object out who may delete it, and guards the object again when the mark goes', async () => {
    const path = pathOf(Model, NS, 'without-finalizer');
    await must({ method: 'POST', path: pathOf(Model, NS), body: aManifest('Model', NS, 'without-finalizer') });
    const merge = { method: 'PATCH', path, contentType: contentTypes.merge } as const;
    const stored = await eventually(() => must({ ...merge, body: stripped, as: OWNER }));
    assert.equal(stored.metadata.finalizers, undefined);
    const body = { metadata: { annotations: { [UNGUARDED_ANNOTATION]: null } } };
    assert.deepEqual((await must({ ...merge, body, as: WRITER })).metadata.finalizers, [FINALIZER]);
  });
});

const anIngester = {
  apiVersion: `${INGESTER_GROUP}/${INGESTER_VERSION}`,
  kind: 'Ingester',
  spec: { version: '1.4.0' },
};
const anyIngester = {
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  metadata: { name: `ingesters.${INGESTER_GROUP}` },
  spec: {
    ...{ group: INGESTER_GROUP, scope: 'Namespaced' },
    names: { kind: 'Ingester', listKind: 'IngesterList', plural: 'ingesters', singular: 'ingester' },
    versions: [
      {
        ...{ name: INGESTER_VERSION, served: true, storage: true, subresources: { status: {} } },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
