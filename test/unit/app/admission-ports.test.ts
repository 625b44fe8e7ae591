import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { ApiAccessReviewer } from '../../../src/app/webhook/access-reviewer.ts';
import { watchTombstones } from '../../../src/app/webhook/tombstone-watch.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { CodedError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { addTombstones } from '../../../src/gitops/tombstone-index.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { createWebhookMetrics } from '../../../src/metrics/metrics.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';
import { ScriptedClient } from '../kube/scripted-client.ts';

const { signal } = new AbortController();
const never = new Promise<never>(() => undefined);

describe('asking the API server what a user may do', () => {
  const user = { username: 'alice', userUid: 'u', groups: ['a'], userExtra: { 'example.com/scopes': ['x'] } };
  const model = { group: 'michelangelo.api', version: 'v2', plural: 'models', namespace: 'ns', name: 'm' };

  function reviewer(answer: () => Promise<JsonObject>, clock: FakeClock = new FakeClock()) {
    const created: unknown[] = [];
    // Every call has a deadline, and the signal of it.
    const create = async (...args: unknown[]): Promise<KubernetesObject> => {
      assert.ok((args.at(-1) as { readonly signal?: unknown }).signal instanceof AbortSignal);
      created.push(args.slice(0, -1));
      return (await answer()) as unknown as KubernetesObject;
    };
    const logger = new RecordingLogger();
    const access = new ApiAccessReviewer({ client: () => Promise.resolve({ create }), clock, logger });
    return { access, created, logger };
  }

  const answers: readonly { status: JsonObject; expected: string }[] = [
    { status: { allowed: true }, expected: 'yes' },
    { status: { allowed: true, evaluationError: 'one of two authorisers failed' }, expected: 'yes' },
    { status: { allowed: false }, expected: 'no' },
    { status: { allowed: false, denied: true, reason: 'no' }, expected: 'no' },
    { status: { allowed: false, evaluationError: 'webhook down' }, expected: 'unknown' },
  ];
  for (const { status, expected } of answers) {
    it(`takes ${JSON.stringify(status)} for ${expected}`, async () => {
      const { access } = reviewer(() => Promise.resolve({ status }));
      assert.equal(await access.mayDelete(user, model, signal), expected);
    });
  }

  it('asks for the verb delete on the very object, with all that is known of the user', async () => {
    const { access, created } = reviewer(() => Promise.resolve({ status: { allowed: true } }));
    await access.mayDelete(user, model, signal);
    assert.deepEqual(created, [
      [
        { group: 'authorization.k8s.io', version: 'v1', plural: 'subjectaccessreviews' },
        '',
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: {
            user: 'alice',
            uid: 'u',
            groups: ['a'],
            extra: { 'example.com/scopes': ['x'] },
            resourceAttributes: {
              verb: 'delete',
              group: 'michelangelo.api',
              version: 'v2',
              resource: 'models',
              namespace: 'ns',
              name: 'm',
            },
          },
        },
      ],
    ]);
  });

  it('answers "unknown" after a failed call, and logs the failure', async () => {
    const { access, logger } = reviewer(() => Promise.reject(new KubeError('Forbidden', 'no right to ask')));
    assert.equal(await access.mayDelete(user, model, signal), 'unknown');
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });

  it('answers "unknown" where the answer comes too late, or after the review has ended', async () => {
    const clock = new FakeClock();
    const { access } = reviewer(() => never, clock);
    const late = access.mayDelete(user, model, signal);
    await clock.advance(3500);
    assert.equal(await late, 'unknown');
    const ended = new AbortController();
    const cut = access.mayDelete(user, model, ended.signal);
    ended.abort();
    assert.equal(await cut, 'unknown');
  });
});

describe('following the names of objects that left', () => {
  const name = { kind: 'Model', namespace: 'ns', name: 'a' };
  const entry = { uid: 'uid-1', end: 'evicted' as const, versions: [] };
  const configMap: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'ingester-system', name: 'ingester-tombstones', uid: 'u', resourceVersion: '1' },
    data: addTombstones({}, [{ ...name, entry }]),
  };
  const logger = new RecordingLogger();
  const metrics = createWebhookMetrics();

  it('knows nothing and connects to nothing unless it is switched on', async () => {
    const client = (): Promise<never> => assert.fail('connected');
    const configuration = { tombstones: { enabled: false }, kubernetes: { namespace: 'ingester-system' } };
    const tombstones = watchTombstones(configuration, { client, clock: systemClock, logger, metrics });
    assert.equal(tombstones.find(name), undefined);
    await tombstones.stop();
  });

  it('knows what the ConfigMap says, as soon as the API server can be reached', async () => {
    const client = new FakeKubeClient();
    client.put(configMap);
    let attempts = 0;
    const connect = (): Promise<FakeKubeClient> => {
      attempts += 1;
      return attempts === 1 ? Promise.reject(new CodedError('TEST_SETUP', 'no token yet')) : Promise.resolve(client);
    };
    const configuration = { tombstones: { enabled: true }, kubernetes: { namespace: 'ingester-system' } };
    const tombstones = watchTombstones(configuration, { client: connect, clock: systemClock, logger, metrics });
    assert.equal(tombstones.find(name), undefined);
    await eventually(() => assert.deepEqual(tombstones.find(name), entry));
    client.put({ ...configMap, data: {} });
    await eventually(() => assert.equal(tombstones.find(name), undefined));
    await tombstones.stop();
  });

  it('reports a watch that stalls, and begins anew', async () => {
    const [clock, stalling] = [new FakeClock(), new ScriptedClient()];
    stalling.listScripts.push('wait', 'wait', 'wait');
    const own = { logger: new RecordingLogger(), metrics: createWebhookMetrics() };
    const client = (): Promise<KubeClient> => Promise.resolve(stalling as unknown as KubeClient);
    const configuration = { tombstones: { enabled: true }, kubernetes: { namespace: 'ns' } };
    const tombstones = watchTombstones(configuration, { client, clock, ...own });
    await eventually(() => assert.equal(stalling.open, 1));
    await clock.advance(70_000);
    assert.deepEqual(
      own.logger.lines.filter(({ level }) => level === 'error').map(({ work }) => work),
      ['list configmaps'],
    );
    assert.match(await own.metrics.registry.metrics(), /ingester_work_stalled_total\{work="list configmaps"\} 1/);
    await clock.advance(60_000);
    assert.ok(stalling.lists.length > 1, 'it asks again');
    await tombstones.stop();
  });
});
