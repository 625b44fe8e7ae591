// A policy or webhook that is not ours refuses what the reconciler writes: it says so on the object, in its status and in
// its metrics, tries again ever more slowly, and is done as soon as it is let through.
import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../hack/local/certificates.ts';
import { probe } from '../../hack/local/role-process.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { crdName } from '../../src/kinds/kind-names.ts';
import { type BadWebhook, reviewedIn, startBadWebhook } from '../support/bad-webhook.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'refused-writes';
const Model = kind('Model');
const RECONCILER = 'system:serviceaccount:ingester-system:ingester-reconciler';
const REGISTRATION = 'admissionregistration.k8s.io/v1';
/** By which a webhook may refuse an update; 409 and 404 have a meaning of their own when the API server says them. */
const codes = [400, 404, 409, 413, 422];
/** What the API server says too when it is busy: a failing object at once, and an event only if it lasts. */
const BUSY = 'by-429';

const policy = {
  apiVersion: REGISTRATION,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'hands-off' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NS } },
      resourceRules: [
        {
          apiGroups: ['michelangelo.api'],
          apiVersions: ['v2'],
          operations: ['UPDATE', 'DELETE'],
          resources: ['models'],
        },
      ],
    },
    validations: [
      { expression: `request.userInfo.username != '${RECONCILER}'`, message: 'hands off, says the policy' },
    ],
  },
};
const binding = {
  apiVersion: REGISTRATION,
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'hands-off' },
  spec: { policyName: 'hands-off', validationActions: ['Deny'] },
};

interface Event {
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly name: string };
}

describe('writes of the reconciler that others refuse', () => {
  const bundle = useBundle({ configuration: { ingester: { requeuePeriod: '8s' } } });
  let cluster: Cluster;
  const webhooks: BadWebhook[] = [];
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
  });
  after(() => {
    for (const webhook of webhooks) webhook.close();
  });

  const apply = (...items: readonly object[]) => cluster.apply({ apiVersion: 'v1', kind: 'List', items });
  const create = (...names: readonly string[]) =>
    apply(...names.map((name) => aManifest('Model', NS, name, { spec: {} })));
  /** A webhook that is asked about what the reconciler writes. */
  const register = async (configuration: string, listener: RequestListener) => {
    const authority = await createAuthority('third-party');
    const webhook = await startBadWebhook({ authority, listener });
    webhooks.push(webhook);
    await apply({
      apiVersion: REGISTRATION,
      kind: configuration,
      metadata: { name: 'third-party' },
      webhooks: [
        {
          name: 'meddles.third-party.test',
          admissionReviewVersions: ['v1'],
          clientConfig: { url: webhook.url, caBundle: Buffer.from(authority.caPem).toString('base64') },
          rules: [
            { apiGroups: ['michelangelo.api'], apiVersions: ['v2'], operations: ['UPDATE'], resources: ['models'] },
          ],
          matchConditions: [{ name: 'reconciler', expression: `request.userInfo.username == '${RECONCILER}'` }],
          failurePolicy: 'Fail',
          sideEffects: 'None',
        },
      ],
    });
  };
  const gone = (name: string) => cluster.gone(Model, NS, name);
  const metrics = async () => (await probe(bundle().reconcilerHealthPort, '/metrics')).body;
  const patches = async () =>
    [...(await metrics()).matchAll(/^rest_client_requests_total\{[^}]*method="PATCH"[^}]*\} (\d+)$/gm)]
      .map(([line, count]) => (line.includes('code="4') ? Number(count) : 0))
      .reduce((sum, count) => sum + count, 0);
  const events = async (name: string): Promise<readonly Event[]> => {
    const text = await cluster.kubectl('get', 'events.events.k8s.io', '-n', NS, '-o', 'json');
    return (JSON.parse(text) as { items: Event[] }).items.filter(({ regarding }) => regarding.name === name);
  };
  const failingObjects = async (): Promise<readonly { readonly name: string; readonly message: string }[]> => {
    const status = [
      'get',
      'configmap',
      'ingester-status',
      '-n',
      'ingester-system',
      '-o',
      'jsonpath={.data.status\\.json}',
    ];
    const { failingObjects } = JSON.parse(await cluster.kubectl(...status)) as {
      failingObjects: { listed: { name: string; message: string }[] };
    };
    return failingObjects.listed;
  };
  /** Until the API server goes by what was registered for the reconciler. */
  const refuses = (name: string, message: RegExp) =>
    eventually(async () => {
      const patch = [
        'patch',
        crdName(Model),
        '-n',
        NS,
        name,
        '--type=merge',
        '-p',
        '{"metadata":{"labels":{"a":"b"}}}',
      ];
      const { code, stderr } = await cluster.tryKubectl(...patch, '--as', RECONCILER, '--dry-run=server');
      assert.notEqual(code, 0, 'is let through');
      assert.match(stderr, message);
    });
  const isFailing = (name: string, message: RegExp) =>
    eventually(async () => {
      assert.match(
        (await failingObjects()).find((each) => each.name === name)?.message ?? '',
        message,
        `does not fail: ${name}`,
      );
    }, 60_000);
  const isTold = async (name: string, message: RegExp) => {
    await isFailing(name, message);
    await eventually(async () => {
      const [event] = (await events(name)).filter(({ reason }) => reason === 'WriteRefused');
      assert.match(event?.note ?? '', message, `no event on ${name}`);
    }, 60_000);
  };

  it('a policy that denies the write is shown on the object, in the status and in the metrics, and costs ever fewer attempts', async () => {
    await create('held', 'marked');
    await apply(policy, binding);
    await refuses('held', /hands off, says the policy/);
    await cluster.kubectl('delete', crdName(Model), '-n', NS, 'held', '--wait=false');
    await cluster.patch(Model, NS, 'marked', { metadata: { annotations: { 'michelangelo/Deleting': 'true' } } });
    for (const name of ['held', 'marked']) await isTold(name, /hands off, says the policy/);
    const text = await metrics();
    assert.match(text, /^ingester_events_total\{kind="Model",reason="WriteRefused"\} [1-9]/m);
    assert.match(text, /^ingester_failed_attempts_total\{kind="Model",code="KUBE_REFUSED"\} [1-9]/m);
    assert.deepEqual((await cluster.get(Model, NS, 'held'))?.metadata.finalizers, [FINALIZER]);
    // Two objects at one attempt in eight seconds each, and what the last short waits left over.
    const before = await patches();
    await delay(8000);
    assert.ok((await patches()) - before <= 4, `${(await patches()) - before} refused patches in eight seconds`);
    await cluster.kubectl('delete', 'validatingadmissionpolicybinding', 'hands-off');
    for (const name of ['held', 'marked']) await gone(name);
    await eventually(async () => assert.deepEqual(await failingObjects(), []));
  });

  it('a webhook that puts the finalizer back is shown on the object and in the status, and the object leaves when the webhook does', async () => {
    await create('put-back');
    await register('MutatingWebhookConfiguration', (request, response) => void putBack(request, response));
    await eventually(async () => {
      const patch = ['--type=merge', '-p', '{"metadata":{"finalizers":null}}', '--as', RECONCILER, '--dry-run=server'];
      const { stdout } = await cluster.tryKubectl(
        'patch',
        crdName(Model),
        '-n',
        NS,
        'put-back',
        ...patch,
        '-o',
        'json',
      );
      assert.match(stdout, new RegExp(FINALIZER));
    });
    await cluster.kubectl('delete', crdName(Model), '-n', NS, 'put-back', '--wait=false');
    await isTold('put-back', /a mutating webhook or policy put it back/);
    await cluster.kubectl('delete', 'mutatingwebhookconfiguration', 'third-party');
    await gone('put-back');
  });

  it('a webhook that refuses the write by any status is no lost race, and the object leaves when the webhook does', async () => {
    const refused = codes.map((code) => `by-${code}`);
    const names = [...refused, BUSY];
    await create(...names);
    await register('ValidatingWebhookConfiguration', (request, response) => void refuse(request, response));
    await refuses('by-409', /third party/);
    await cluster.kubectl('delete', crdName(Model), '-n', NS, ...names, '--wait=false');
    for (const name of refused) await isTold(name, new RegExp(`third party refuses ${name}`));
    await isFailing(BUSY, /third party refuses by-429/);
    for (const name of names) assert.deepEqual((await cluster.get(Model, NS, name))?.metadata.finalizers, [FINALIZER]);
    await cluster.kubectl('delete', 'validatingwebhookconfiguration', 'third-party');
    for (const name of names) await gone(name);
  });
});

/** The status is in the name of the object. */
async function refuse(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { uid, name } = await reviewedIn(request);
  const status = { code: Number(name.replace('by-', '')), message: `a third party refuses ${name}` };
  answer(response, { uid, allowed: false, status });
}

async function putBack(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const patch = JSON.stringify([{ op: 'add', path: '/metadata/finalizers', value: [FINALIZER] }]);
  const { uid } = await reviewedIn(request);
  answer(response, { uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from(patch).toString('base64') });
}

function answer(to: ServerResponse, response: object): void {
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
  to.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(review));
}
