// The webhook is down, slow, wrong or renews its certificate: nothing unguarded is stored, and nothing else is held up.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../hack/local/certificates.ts';
import { writeKeyPair } from '../../hack/local/webhook-process.ts';
import { FINALIZER } from '../../src/api/names.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { type ApiAnswer, contentTypes, pathOf } from '../support/api-server.ts';
import { type BadWebhookOptions, startBadWebhook, uidOf } from '../support/bad-webhook.ts';
import { aManifest, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type Call, underLoad } from '../support/under-load.ts';
import { useAdmission } from '../support/use-admission.ts';

const NS = 'failures';
const Model = kind('Model');
const REGISTRATION = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/ingester-finalizer';

describe('admission when the webhook fails', () => {
  const admission = useAdmission();
  before(() => admission().api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: NS } } }));

  const create = (name: string, query = ''): Promise<ApiAnswer> => {
    const path = `${pathOf(Model, NS)}${query}`;
    return admission().api.call({ method: 'POST', path, body: aManifest('Model', NS, name, { spec: {} }) });
  };
  const exists = async (name: string): Promise<boolean> =>
    (await admission().api.call({ method: 'GET', path: pathOf(Model, NS, name) })).status === 200;

  /** Changes the registration of the mutating webhook, and waits until the API server goes by it. */
  const register = async (change: JsonObject, effective: (answer: ApiAnswer) => boolean): Promise<void> => {
    const operations = Object.entries(change).map(([field, value]) => ({
      op: 'replace',
      path: `/webhooks/0/${field}`,
      value,
    }));
    const patch = { method: 'PATCH', path: REGISTRATION, body: operations, contentType: contentTypes.json } as const;
    await admission().api.must(patch);
    await eventually(async () => assert.ok(effective(await create('probe', '?dryRun=All'))));
  };
  const ok = ({ status, body }: ApiAnswer): boolean =>
    status === 201 && (body.metadata.finalizers?.includes(FINALIZER) ?? false);
  const bundleOf = (...pems: readonly string[]): string => Buffer.from(pems.join('\n')).toString('base64');
  const ours = (): JsonObject => ({
    'clientConfig/url': `https://127.0.0.1:${admission().webhook.port}/mutate`,
    'clientConfig/caBundle': bundleOf(admission().webhook.authority.caPem),
    failurePolicy: 'Fail',
  });

  it('41: a webhook that is down refuses creates by name, and holds up nothing else', async () => {
    const { api, webhook } = admission();
    await create('old');
    await create('leaving');
    await webhook.process.stop();
    const { status, body } = await create('refused');
    assert.equal(status, 500);
    assert.match(body.message ?? '', /failed calling webhook "finalizer\.ingester\.michelangelo\.api"/);
    assert.equal(await exists('refused'), false);
    const configMaps = `/api/v1/namespaces/${NS}/configmaps`;
    await api.must({ method: 'POST', path: configMaps, body: { metadata: { name: 'other-group' } } });
    const spec = { spec: { algorithm: 'updated' }, metadata: { labels: { a: 'b' } } };
    await api.must({ method: 'PATCH', path: pathOf(Model, NS, 'old'), body: spec, contentType: contentTypes.merge });
    const carries = { ...aManifest('Model', NS, ''), metadata: { name: 'carries', finalizers: ['example.com/a'] } };
    assert.equal((await api.call({ method: 'POST', path: pathOf(Model, NS), body: carries })).status, 500);
  });

  it('30: a deletion comes to its end while the webhook is down', async () => {
    const { api } = admission();
    const path = pathOf(Model, NS, 'leaving');
    await api.must({ method: 'DELETE', path });
    const { metadata } = await api.must({ method: 'GET', path });
    assert.notEqual(metadata.deletionTimestamp, undefined);
    const removal = [
      { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'remove', path: '/metadata/finalizers/0' },
    ];
    await api.must({ method: 'PATCH', path, body: removal, contentType: contentTypes.json });
    assert.equal(await exists('leaving'), false);
  });

  it('41: with the component fail-open, creates pass while the webhook is down and are guarded again when it is back', async () => {
    const { controlPlane, directory, webhook } = admission();
    const overlay = join(directory, 'config/overlays/open');
    mkdirSync(overlay);
    const open = { resources: ['../local'], components: ['../../components/fail-open'] };
    writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(open));
    await controlPlane.kubectlRun(['apply', '-k', overlay]);
    await eventually(async () => assert.equal((await create('probe', '?dryRun=All')).status, 201));
    const { status, body } = await create('passed');
    assert.equal(status, 201);
    assert.equal(body.metadata.finalizers, undefined);
    await webhook.process.start();
    await eventually(async () => assert.ok(ok(await create('probe', '?dryRun=All'))));
    await controlPlane.kubectlRun(['apply', '-k', join(directory, 'config/overlays/local')]);
  });

  const review = (response: JsonObject): string =>
    JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response });
  const answering =
    (body: (uid: string) => string, status = 200): RequestListener =>
    (request: IncomingMessage, response: ServerResponse) => {
      void uidOf(request).then((uid) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(body(uid));
      });
    };
  const allowing = answering((uid) => review({ uid, allowed: true }));

  const wrongs: readonly { name: string; message: RegExp; webhook: Omit<BadWebhookOptions, 'authority'> }[] = [
    {
      name: 'is slower than its timeout',
      message: /context deadline exceeded|Timeout exceeded/,
      webhook: { listener: () => undefined },
    },
    {
      name: 'answers 500',
      message: /an error on the server/,
      webhook: { listener: answering(() => '{"message":"no"}', 500) },
    },
    {
      name: 'answers with another uid',
      message: /expected response\.uid/,
      webhook: { listener: answering(() => review({ uid: 'another', allowed: true })) },
    },
    {
      name: 'answers garbage',
      message: /couldn't get version|invalid character|json|yaml/i,
      webhook: { listener: answering(() => 'garbage') },
    },
    {
      name: 'has a certificate that has expired',
      message: /certificate has expired/,
      webhook: { listener: allowing, notAfter: new Date(Date.now() - 1000) },
    },
    {
      name: 'has a certificate for another name',
      message: /not 127\.0\.0\.1|cannot validate certificate/,
      webhook: { listener: allowing, host: 'webhook.example.com' },
    },
    {
      name: 'speaks plain HTTP',
      message: /server gave HTTP response to HTTPS client/,
      webhook: { listener: allowing, plain: true },
    },
  ];
  for (const [index, { name, message, webhook }] of wrongs.entries()) {
    it(`42: a webhook that ${name} refuses the create, and nothing is stored`, async () => {
      const authority = await createAuthority('bad-webhook-ca');
      const bad = await startBadWebhook({ ...webhook, authority });
      const registered = { 'clientConfig/url': bad.url, 'clientConfig/caBundle': bundleOf(authority.caPem) };
      await register({ ...registered, failurePolicy: 'Fail', timeoutSeconds: 1 }, ({ status }) => status === 500);
      const refused = await create(`wrong-${index}`);
      assert.equal(refused.status, 500);
      assert.match(refused.body.message ?? '', message);
      assert.equal(await exists(`wrong-${index}`), false);
      bad.close();
      await register({ ...ours(), timeoutSeconds: 5 }, ok);
    });
  }

  it('42: a patch that does not apply refuses the create even where failures are ignored', async () => {
    const authority = await createAuthority('bad-webhook-ca');
    const patch = JSON.stringify([{ op: 'add', path: '/metadata/finalizers/-', value: FINALIZER }]);
    const listener = answering((uid) =>
      review({ uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from(patch).toString('base64') }),
    );
    const bad = await startBadWebhook({ authority, listener });
    const registered = { 'clientConfig/url': bad.url, 'clientConfig/caBundle': bundleOf(authority.caPem) };
    await register({ ...registered, failurePolicy: 'Ignore' }, ({ status }) => status !== 201);
    assert.equal(await exists('probe'), false);
    bad.close();
    await register(ours(), ok);
  });

  it('44: the API server repeats a call that a replica which ends answered with 503 and Retry-After', async () => {
    const authority = await createAuthority('leaving-webhook-ca');
    const asked = new Set<string>();
    const listener: RequestListener = (request, response) => {
      void uidOf(request).then((uid) => {
        if (asked.has(uid)) response.writeHead(200).end(review({ uid, allowed: true }));
        else response.writeHead(503, { 'Retry-After': '0', Connection: 'close' }).end();
        asked.add(uid);
      });
    };
    const leaving = await startBadWebhook({ authority, listener });
    const registered = { 'clientConfig/url': leaving.url, 'clientConfig/caBundle': bundleOf(authority.caPem) };
    await register(registered, ({ status, body }) => status === 201 && body.metadata.finalizers === undefined);
    assert.ok(asked.size > 0);
    leaving.close();
    await register(ours(), ok);
  });

  const createUnderLoad: Call = async (index) => {
    const answer = await create(`load-${index}`, '?dryRun=All');
    return ok(answer) ? undefined : `${answer.status} ${answer.body.message ?? 'without finalizer'}`;
  };

  const renewed = (): Promise<number> => admission().metric('ingester_webhook_certificate_not_after_seconds');

  it('43: a renewed certificate under 100 creates a second fails no create', async () => {
    const { webhook } = admission();
    const before = await renewed();
    const failed = await underLoad(createUnderLoad, async () => {
      const notAfter = new Date(Date.now() + 3_600_000);
      writeKeyPair(webhook.certDir, await webhook.authority.issue({ commonName: 'w', hosts: ['127.0.0.1'], notAfter }));
      await eventually(async () => assert.notEqual(await renewed(), before));
      // Another bundle makes the API server connect anew, and so see the new certificate.
      const other = await createAuthority('another-ca');
      const bundle = { 'clientConfig/caBundle': bundleOf(webhook.authority.caPem, other.caPem) };
      await register(bundle, ok);
      await delay(1000);
    });
    assert.deepEqual(failed, []);
  });

  it('43: a new authority with an overlapping bundle under 100 creates a second fails no create', async () => {
    const { webhook } = admission();
    const next = await createAuthority('next-ca');
    const before = await renewed();
    const failed = await underLoad(createUnderLoad, async () => {
      await register({ 'clientConfig/caBundle': bundleOf(webhook.authority.caPem, next.caPem) }, ok);
      writeKeyPair(webhook.certDir, await next.issue({ commonName: 'w', hosts: ['127.0.0.1'] }));
      await eventually(async () => assert.notEqual(await renewed(), before));
      await register({ 'clientConfig/caBundle': bundleOf(next.caPem) }, ok);
      await delay(1000);
    });
    assert.deepEqual(failed, []);
  });
});
