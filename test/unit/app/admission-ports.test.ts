import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allKinds } from '../../../src/api/kinds.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { ApiAccessReviewer } from '../../../src/app/access-reviewer.ts';
import { watchNames } from '../../../src/app/name-watch.ts';
import { ClusterCensus } from '../../../src/app/object-census.ts';
import { within } from '../../../src/app/within.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { CodedError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { createWebhookMetrics } from '../../../src/base/metrics.ts';
import { remember } from '../../../src/gitops/remembered-names.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import type { ListQuery } from '../../../src/storage/list-query.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { aModel } from '../../support/objects.ts';
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

  it('does not know what a failed call would have said, and logs it', async () => {
    const { access, logger } = reviewer(() => Promise.reject(new KubeError('Forbidden', 'no right to ask')));
    assert.equal(await access.mayDelete(user, model, signal), 'unknown');
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });

  it('does not know what comes too late, or after the review has ended', async () => {
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

describe('finding out whether a kind has objects', () => {
  const resource = { group: 'michelangelo.api', plural: 'models', version: 'v2' };

  function census(inCluster: number, archived?: number | Error, clock: FakeClock = new FakeClock()) {
    const asked: unknown[] = [];
    const list = (...args: unknown[]) => {
      asked.push(args.slice(0, 2));
      const items = Array.from({ length: inCluster }, () => aModel());
      return Promise.resolve({ items, resourceVersion: '1', continueToken: undefined });
    };
    const rows = (_kind: unknown, query: ListQuery) => {
      asked.push(query);
      if (archived instanceof Error) return Promise.reject(archived);
      const items = Array.from({ length: archived ?? 0 }, () => ({}) as never);
      return Promise.resolve({ items, continue: undefined, total: undefined });
    };
    const storage = archived === undefined ? undefined : () => Promise.resolve({ list: rows });
    const logger = new RecordingLogger();
    const client = () => Promise.resolve({ list });
    return { asked, logger, census: new ClusterCensus({ kinds: allKinds, client, storage, clock, logger }) };
  }

  it('has some where the cluster has one, and does not ask the database', async () => {
    const { census: subject, asked } = census(1, 0);
    assert.equal(await subject.hasObjects(resource, signal), 'some');
    assert.deepEqual(asked, [
      [
        { group: 'michelangelo.api', version: 'v2', plural: 'models' },
        { limit: 1, metadataOnly: true },
      ],
    ]);
  });

  it('has some where only a row is left, and none where there is neither', async () => {
    assert.equal(await census(0, 1).census.hasObjects(resource, signal), 'some');
    assert.equal(await census(0, 0).census.hasObjects(resource, signal), 'none');
  });

  it('does not know what is archived without a database', async () => {
    assert.equal(await census(0).census.hasObjects(resource, signal), 'unknown');
    assert.equal(await census(1).census.hasObjects(resource, signal), 'some');
  });

  it('needs no database for kinds that are never copied', async () => {
    assert.equal(
      await census(0).census.hasObjects(
        { group: 'ingester.michelangelo.api', plural: 'ingesters', version: 'v1' },
        signal,
      ),
      'none',
    );
  });

  it('does not know what a failure would have said, and logs it', async () => {
    const { census: subject, logger } = census(0, new KubeError('Unavailable', 'down'));
    assert.equal(await subject.hasObjects(resource, signal), 'unknown');
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });

  it('does not know what comes too late', async () => {
    const clock = new FakeClock();
    const options = { kinds: allKinds, client: () => never, storage: undefined, clock, logger: new RecordingLogger() };
    const late = new ClusterCensus(options).hasObjects(resource, signal);
    await clock.advance(3500);
    assert.equal(await late, 'unknown');
  });
});

describe('waiting for an answer for a limited time', () => {
  it('leaves no timer behind and tells the work when to stop', async () => {
    const clock = new FakeClock();
    assert.equal(await within({ clock, timeoutMs: 10, signal }, 0, () => Promise.resolve(1)), 1);
    assert.equal(clock.pending, 0);
    let stopped = false;
    const result = within({ clock, timeoutMs: 10, signal }, 0, (stop) => {
      stop.addEventListener('abort', () => (stopped = true));
      return never;
    });
    await clock.advance(10);
    assert.equal(await result, 0);
    assert.equal(stopped, true);
  });

  it('lets nobody notice work that fails after the time is over', async () => {
    const clock = new FakeClock();
    const work = Promise.withResolvers<number>();
    const result = within({ clock, timeoutMs: 10, signal }, 0, () => work.promise);
    await clock.advance(10);
    work.reject(new RangeError('late'));
    assert.equal(await result, 0);
  });
});

describe('following the names of objects that left', () => {
  const name = { kind: 'Model', namespace: 'ns', name: 'a' };
  const record = { uid: 'uid-1', end: 'evicted' as const, versions: [] };
  const configMap: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'ingester-system', name: 'ingester-names', uid: 'u', resourceVersion: '1' },
    data: remember({}, [{ ...name, record }]),
  };
  const logger = new RecordingLogger();
  const metrics = createWebhookMetrics();

  it('knows nothing and connects to nothing unless it is switched on', async () => {
    const client = (): Promise<never> => assert.fail('connected');
    const rememberedNames = { enabled: false, namespace: 'ingester-system' };
    const names = watchNames({ rememberedNames }, { client, clock: systemClock, logger, metrics });
    assert.equal(names.recall(name), undefined);
    await names.stop();
  });

  it('knows what the ConfigMap says, as soon as the API server can be reached', async () => {
    const client = new FakeKubeClient();
    client.put(configMap);
    let attempts = 0;
    const connect = (): Promise<FakeKubeClient> => {
      attempts += 1;
      return attempts === 1 ? Promise.reject(new CodedError('TEST_SETUP', 'no token yet')) : Promise.resolve(client);
    };
    const rememberedNames = { enabled: true, namespace: 'ingester-system' };
    const names = watchNames({ rememberedNames }, { client: connect, clock: systemClock, logger, metrics });
    assert.equal(names.recall(name), undefined);
    await eventually(() => assert.deepEqual(names.recall(name), record));
    client.put({ ...configMap, data: {} });
    await eventually(() => assert.equal(names.recall(name), undefined));
    await names.stop();
  });

  it('says so, and begins anew, where the watch stalls', async () => {
    const [clock, stalling] = [new FakeClock(), new ScriptedClient()];
    const own = { logger: new RecordingLogger(), metrics: createWebhookMetrics() };
    const client = (): Promise<KubeClient> => Promise.resolve(stalling as unknown as KubeClient);
    const names = watchNames({ rememberedNames: { enabled: true, namespace: 'ns' } }, { client, clock, ...own });
    await eventually(() => assert.equal(stalling.open, 1));
    await clock.advance(70_000);
    assert.deepEqual(
      own.logger.lines.filter(({ level }) => level === 'error').map(({ work }) => work),
      ['list configmaps'],
    );
    assert.match(await own.metrics.registry.metrics(), /ingester_work_stalled_total\{work="list configmaps"\} 1/);
    await clock.advance(60_000);
    assert.ok(stalling.watches.length > 1, 'it asks again');
    await names.stop();
  });
});
