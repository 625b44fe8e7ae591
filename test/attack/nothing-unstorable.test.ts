// "Nothing that cannot be stored comes in": objects too deep for the databases are refused where they come in, and no name,
// namespace or key that two databases compare differently gets past the API server.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { FINALIZER } from '../../src/api/names.ts';
import { jsonText } from '../../src/base/deep-json.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { parseLossless } from '../../src/base/lossless-json.ts';
import { type ApiAnswer, type ApiCall, ApiServer, contentTypes, pathOf } from '../support/api-server.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { useAdmission } from '../support/use-admission.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'unstorable';
const PipelineRun = kind('PipelineRun');

/** JSON of so many levels; the object and its spec are two more. */
const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const run = (name: string, input: string): string =>
  `{"apiVersion":"michelangelo.api/v2","kind":"PipelineRun","metadata":{"name":"${name}"},"spec":{"input":${input}}}`;

describe('admission of objects that cannot be stored', () => {
  const admission = useAdmission();
  const call = (request: ApiCall): Promise<ApiAnswer> => admission().api.call(request);
  const collection = pathOf(PipelineRun, NS);

  before(async () => {
    await admission().api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: NS } } });
    // A kind that was installed a moment ago may not be served yet.
    await eventually(() => admission().api.must({ method: 'GET', path: collection }));
  });

  const assertTooDeep = ({ status, body }: ApiAnswer, what: string): void => {
    assert.equal(status, 403, `${what}: ${status} ${body.message ?? ''}`);
    assert.match(body.message ?? '', /nested deeper than 30 levels/);
  };

  for (const levels of [29, 40, 110, 9000]) {
    it(`refuses a new object with ${levels} levels in its spec, by POST and by apply`, async () => {
      const [name, query] = [`deep-${levels}`, 'fieldManager=attacker&force=true'];
      const apply = {
        method: 'PATCH',
        path: `${collection}/${name}?${query}`,
        contentType: contentTypes.apply,
      } as const;
      assertTooDeep(await call({ method: 'POST', path: collection, body: run(name, nested(levels)) }), 'POST');
      // The API server itself takes 20 seconds to apply 9,000 levels.
      if (levels < 1000) assertTooDeep(await call({ ...apply, body: run(name, nested(levels)) }), 'apply');
    });
  }

  it('takes an object that can be stored, and refuses what makes it too deep afterwards', async () => {
    const path = `${collection}/grows`;
    const made = await admission().api.must({ method: 'POST', path: collection, body: run('grows', nested(28)) });
    assert.deepEqual(made.metadata.finalizers, [FINALIZER]);
    const deep = `{"input":${nested(110)}}`;
    const attacks: readonly ApiCall[] = [
      { method: 'PATCH', path, body: `{"spec":${deep}}`, contentType: contentTypes.merge },
      { method: 'PATCH', path, body: `[{"op":"add","path":"/spec","value":${deep}}]`, contentType: contentTypes.json },
      {
        method: 'PATCH',
        path,
        body: `{"spec":{"pipelineSpec":{"manifest":{"paramsMap":{"p":{"kwArgs":${nested(110)}}}}}}}`,
        contentType: contentTypes.merge,
      },
      {
        ...{ method: 'PUT', path },
        body: run('grows', nested(110)).replace(
          '"name"',
          `"resourceVersion":"${made.metadata.resourceVersion}","name"`,
        ),
      },
    ];
    for (const attack of attacks) assertTooDeep(await call(attack), `${attack.method} ${attack.contentType ?? ''}`);
    const body = { metadata: { labels: { a: 'b' } }, spec: { input: { a: 2 } } };
    assert.equal((await call({ method: 'PATCH', path, body, contentType: contentTypes.merge })).status, 200);
  });

  it('lets no name, namespace, label or key with a blank or a capital past the API server', async () => {
    const models = pathOf(kind('Model'), NS);
    const attack = (metadata: object): ApiCall => ({
      ...{ method: 'POST', path: models },
      body: { ...aManifest('Model', NS, ''), metadata },
    });
    const attacks: readonly ApiCall[] = [
      ...['a ', 'a\u00a0', 'A', 'a\n', ' a'].map((name) => attack({ name })),
      attack({ generateName: 'A ' }),
      ...['a ', 'a/b ', 'a\u00a0'].map((key) => attack({ name: 'a', labels: { [key]: 'b' } })),
      ...['b ', ' ', 'b\n'].map((value) => attack({ name: 'a', labels: { a: value } })),
      ...['a ', 'a/b ', 'a\u00a0'].map((key) => attack({ name: 'a', annotations: { [key]: 'b' } })),
      { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'a ' } } },
    ];
    for (const request of attacks) {
      const { status, body } = await call(request);
      assert.equal(status, 422, `${JSON.stringify(request.body)}: ${status} ${body.message ?? ''}`);
    }
  });
});

describe('an object that was created while no webhook was called', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  let api: ApiServer;
  const collection = pathOf(PipelineRun, NS);
  const inputOf = async (name: string): Promise<string> => {
    const found = parseLossless(await cluster.kubectl('get', '--raw', `${collection}/${name}`)) as JsonObject;
    return jsonText((found['spec'] as JsonObject)['input'] as JsonObject);
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    api = new ApiServer(bundle().controlPlane.kubeconfig);
    const hooks = 'mutatingwebhookconfigurations,validatingwebhookconfigurations';
    await cluster.kubectl('delete', hooks, '-l', 'app.kubernetes.io/name=michelangelo-ingester');
  });

  for (const levels of [40, 110, 2900, 9000]) {
    it(`with ${levels} levels is stored, told of, evicted and restored`, async () => {
      const name = `deep-${levels}`;
      // With a number that no double holds, on the deepest level.
      const input = nested(levels).replace('1', '9007199254740993');
      await eventually(() => api.must({ method: 'POST', path: collection, body: run(name, input) }));
      await eventually(async () => {
        const rows = await cluster.rows(PipelineRun, NS, name);
        assert.match(JSON.stringify(rows[0]?.['json'] ?? ''), /michelangelo\/json/);
      });
      await eventually(async () => {
        const events = await cluster.kubectl(
          'get',
          'events',
          '-n',
          NS,
          '--field-selector',
          'reason=StoredAsText',
          '-o',
          'json',
        );
        assert.match(events, new RegExp(`"${name}"`));
      });
      assert.equal(await inputOf(name), input);
      await cluster.patch(PipelineRun, NS, name, { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
      await eventually(async () =>
        assert.equal((await cluster.tryKubectl('get', '--raw', `${collection}/${name}`)).code, 1),
      );
      const { code, stdout, stderr } = await runIngester(bundle(), ['restore', 'PipelineRun', `${NS}/${name}`]);
      assert.equal(code, 0, `${stdout}${stderr}`);
      assert.equal(await inputOf(name), input);
    });
  }

  it('does not keep its namespace from being deleted', async () => {
    await cluster.kubectl('delete', 'namespace', NS, '--timeout=60s');
    const restored = (await cluster.rows(PipelineRun, NS)).filter((row) => row['evict_time'] === null);
    assert.equal(restored.length, 4);
    for (const row of restored) assert.notEqual(row['delete_time'], null);
  });
});
