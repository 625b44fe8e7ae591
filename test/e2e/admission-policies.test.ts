// The component without a webhook does the same: one table of requests, answered once by the webhook and once by the
// policies that the API server evaluates itself.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION, UNGUARDED_ANNOTATION } from '../../src/api/names.ts';
import { type ApiAnswer, contentTypes, pathOf } from '../support/api-server.ts';
import { aManifest, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useAdmission } from '../support/use-admission.ts';
import { noPolicies, replaceByPolicies } from '../support/without-webhook.ts';

const Model = kind('Model');
const RECONCILER = 'system:serviceaccount:ingester-system:ingester-reconciler';

/** What is sent one after the other to one object; a create first. */
interface Story {
  readonly name: string;
  readonly kind: string;
  readonly create: object;
  /** PUT replaces with exactly this; a list is a JSON patch, anything else a merge patch. */
  readonly updates?: readonly { readonly put?: object; readonly patch?: unknown; readonly as?: string }[];
}

const marks = { [DELETING_ANNOTATION]: 'true', [IMMUTABLE_ANNOTATION]: 'true' };
const mark = { patch: { metadata: { annotations: marks } } };
const permit = (target: string, spec: object) => ({
  patch: { metadata: { annotations: { 'michelangelo/allow-downgrade': target } }, spec },
});

const stories: readonly Story[] = [
  { name: 'no-finalizers', kind: 'Model', create: {} },
  { name: 'null-finalizers', kind: 'ModelFamily', create: { metadata: { finalizers: null, annotations: null } } },
  { name: 'empty-finalizers', kind: 'Project', create: { metadata: { finalizers: [] } } },
  { name: 'others', kind: 'Deployment', create: { metadata: { finalizers: ['example.com/a', 'example.com/b'] } } },
  { name: 'ours', kind: 'Cluster', create: { metadata: { finalizers: [FINALIZER] } } },
  { name: 'twice', kind: 'RayJob', create: { metadata: { finalizers: [FINALIZER, FINALIZER] } } },
  {
    name: 'elsewhere',
    kind: 'RayCluster',
    create: { spec: { head: { pod: { metadata: { finalizers: [FINALIZER] } } } } },
  },
  {
    name: 'dropped',
    kind: 'Pipeline',
    create: {},
    updates: [
      { patch: { metadata: { finalizers: null } } },
      { patch: [{ op: 'remove', path: '/metadata/finalizers/0' }] },
      { put: {} },
      { patch: [{ op: 'remove', path: '/metadata/finalizers/0' }], as: RECONCILER },
    ],
  },
  { name: 'marks-replaced', kind: 'Model', create: {}, updates: [mark, { put: {} }] },
  {
    name: 'marks-replaced-beside-others',
    kind: 'Model',
    create: {},
    updates: [mark, { put: { metadata: { annotations: { 'example.com/a': 'b' } } } }],
  },
  {
    name: 'marks-taken-off',
    kind: 'Model',
    create: {},
    updates: [mark, { patch: { metadata: { annotations: null } } }, { put: {} }],
  },
  {
    name: 'marks-said-false',
    kind: 'Model',
    create: {},
    updates: [mark, { put: { metadata: { annotations: { [DELETING_ANNOTATION]: 'false' } } } }],
  },
  {
    name: 'revision',
    kind: 'Model',
    create: { spec: { revisionId: 7, sealed: true } },
    updates: [
      { patch: { spec: { revisionId: 6 } } },
      { patch: { spec: { sealed: false } } },
      { patch: { spec: { revisionId: null } } },
      { patch: { spec: { algorithm: 'another' } } },
      permit('5', { revisionId: 6 }),
      permit('5, 6', { revisionId: 6 }),
      permit('false', { sealed: false }),
      { patch: { spec: { revisionId: 8 } } },
    ],
  },
  {
    name: 'ray',
    kind: 'RayCluster',
    create: { spec: { rayVersion: '2.10.0' } },
    updates: [
      { patch: { spec: { rayVersion: '2.9.0' } } },
      { patch: { spec: { rayVersion: null } } },
      permit('2.9.0', { rayVersion: '2.9.0' }),
      { patch: { spec: { rayVersion: '2.11.0' } } },
      { patch: { spec: { rayVersion: 'latest' } } },
      permit('latest', { rayVersion: 'latest' }),
      permit('', { rayVersion: '2.8.1' }),
    ],
  },
  {
    name: 'opted-out',
    kind: 'Pipeline',
    create: {},
    updates: [
      { patch: { metadata: { annotations: { [UNGUARDED_ANNOTATION]: 'true' } } } },
      { patch: { metadata: { finalizers: null } } },
      { patch: { metadata: { annotations: null } } },
    ],
  },
  {
    name: 'spark-first',
    kind: 'SparkJob',
    create: {},
    updates: [{ patch: { spec: { sparkVersion: '3.3.0' } } }, { patch: { spec: { sparkVersion: '3.2.9' } } }],
  },
];

describe('the policies without a webhook', { skip: noPolicies }, () => {
  const admission = useAdmission();

  const told = async (namespace: string): Promise<readonly unknown[]> => {
    const { api } = admission();
    await api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
    const outcomes: unknown[] = [];
    for (const story of stories) {
      const of = kind(story.kind);
      const path = pathOf(of, namespace, story.name);
      const whole = (content: object & { metadata?: object }, more: object = {}): object => ({
        ...aManifest(story.kind, namespace, story.name, content),
        metadata: { ...content.metadata, ...more, name: story.name },
      });
      const answers = [await api.call({ method: 'POST', path: pathOf(of, namespace), body: whole(story.create) })];
      for (const { put, patch, as } of story.updates ?? []) {
        const user = as === undefined ? {} : { as };
        if (put !== undefined) {
          const { resourceVersion } = (await api.must({ method: 'GET', path })).metadata;
          answers.push(await api.call({ method: 'PUT', path, body: whole(put, { resourceVersion }), ...user }));
        } else {
          const contentType = Array.isArray(patch) ? contentTypes.json : contentTypes.merge;
          answers.push(await api.call({ method: 'PATCH', path, body: patch, contentType, ...user }));
        }
      }
      outcomes.push({ story: story.name, answers: answers.map(outcomeOf) });
    }
    return outcomes;
  };

  let byWebhook: readonly unknown[];
  let byPolicies: readonly unknown[];

  before(async () => {
    await untilRightsAreKnown();
    byWebhook = await told('by-webhook');
    await replaceByPolicies(admission());
    byPolicies = await told('by-policies');
  });

  /** The first question connects the webhook to the API server, which may take longer than a busy machine gives. */
  async function untilRightsAreKnown(): Promise<void> {
    const { api } = admission();
    const [body, { patch }] = [aManifest('Model', 'default', 'first'), mark];
    await api.must({ method: 'POST', path: pathOf(Model, 'default'), body });
    const path = pathOf(Model, 'default', 'first');
    await eventually(() => api.must({ method: 'PATCH', path, body: patch, contentType: contentTypes.merge }));
  }

  const crdPath = (plural: string): string =>
    `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.michelangelo.api`;

  for (const [index, { name }] of stories.entries()) {
    it(`answer "${name}" as the webhook does`, () => assert.deepEqual(byPolicies[index], byWebhook[index]));
  }

  it('refuse and permit the writes that the table of stories says', () => {
    const statuses = (name: string): readonly number[] => {
      const told = byPolicies[stories.findIndex((story) => story.name === name)];
      return (told as { answers: readonly { status: number }[] }).answers.map(({ status }) => status);
    };
    assert.deepEqual(statuses('revision'), [201, 403, 403, 403, 200, 403, 200, 200, 200]);
    assert.deepEqual(statuses('ray'), [201, 403, 403, 200, 200, 403, 200, 200]);
    assert.deepEqual(statuses('opted-out'), [201, 200, 200, 200]);
    assert.deepEqual(statuses('spark-first'), [201, 200, 403]);
    assert.deepEqual(statuses('dropped'), [201, 200, 200, 200, 200]);
  });

  it('leave no webhook behind that could be called', async () => {
    const kinds = 'mutatingwebhookconfigurations,validatingwebhookconfigurations';
    const { stdout } = await admission().controlPlane.kubectlRun(['get', kinds, '-o', 'name']);
    assert.equal(stdout, '');
  });

  it('guard an object of every kind that a server-side apply creates', async () => {
    const path = `${pathOf(kind('Revision'), 'by-policies', 'applied')}?fieldManager=a&force=true`;
    const body = aManifest('Revision', 'by-policies', 'applied', { spec: {} });
    const contentType = contentTypes.apply;
    const { metadata } = await admission().api.must({ method: 'PATCH', path, body, contentType });
    assert.deepEqual(metadata.finalizers, [FINALIZER]);
  });

  it('refuse to delete a CRD unless its annotation permits it', async () => {
    const { api } = admission();
    const refused = await api.call({ method: 'DELETE', path: crdPath('rayjobs') });
    assert.equal(refused.status, 403);
    assert.match(refused.body.message ?? '', /deleting CRD rayjobs\.michelangelo\.api deletes all its objects/);
    const body = { metadata: { annotations: { 'michelangelo/allow-crd-delete': 'true' } } };
    await api.must({ method: 'PATCH', path: crdPath('rayjobs'), body, contentType: contentTypes.merge });
    assert.equal((await api.call({ method: 'DELETE', path: crdPath('rayjobs') })).status, 200);
  });
});

/** What a client sees, without what differs from run to run and from one admission plug-in to the other. */
function outcomeOf({ status, body }: ApiAnswer): object {
  if (status >= 400)
    return { status, reason: body.reason, message: body.message?.replace(/^.* denied (the )?request: /, '') };
  const { finalizers, annotations } = body.metadata;
  return { status, finalizers, annotations, spec: body['spec'] };
}
