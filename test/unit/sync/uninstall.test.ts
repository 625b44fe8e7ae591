import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUNDLE_LABEL, BUNDLE_NAME, FINALIZER } from '../../../src/api/names.ts';
import { hasFinalizer } from '../../../src/api/object.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { UninstallElsewhereError, UninstallStoppedError, UninstallStuckError } from '../../../src/sync/errors.ts';
import { uninstall } from '../../../src/sync/uninstall/uninstall.ts';
import { phaseOf, setPhase } from '../../../src/sync/uninstall/uninstall-marker.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aModel, modelKind } from '../../support/objects.ts';

const NAMESPACE = 'ingester-system';
const KEY = 'a-namespace/a-model';
const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

function setUp(options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}) {
  const api = new FakeApiServer();
  const clock = new FakeClock();
  const notes: string[] = [];
  const run = async () => {
    const running = uninstall({
      client: api,
      kinds: [{ kind: modelKind, resource }],
      namespace: NAMESPACE,
      clock,
      timeoutMs: Number.POSITIVE_INFINITY,
      signal: new AbortController().signal,
      progress: { note: (text) => notes.push(text), finalizersRemoved: () => undefined },
      ...options,
    });
    const outcome = running.then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
    for (let step = 0; step < 20; step += 1) await clock.advance(500);
    return outcome as Promise<{ result?: Awaited<typeof running>; error?: unknown }>;
  };
  const phase = () => phaseOf(api.of('configmaps').object(`${NAMESPACE}/ingester-uninstall`));
  return { api, models: api.of('models'), clock, notes, run, phase };
}

describe('uninstall', () => {
  it('takes our finalizer off every object, leaves those of others, and then marks the bundle as removable', async () => {
    const { models, run, phase } = setUp();
    models.put(aModel());
    models.put(aModel({ name: 'other', finalizers: ['other/finalizer', FINALIZER] }));
    models.put(aModel({ name: 'bare', finalizers: [] }));
    const { result } = await run();
    assert.deepEqual(result?.finalizersRemoved, { Model: 2 });
    assert.deepEqual(models.object(KEY)?.metadata.finalizers, []);
    assert.deepEqual(models.object('a-namespace/other')?.metadata.finalizers, ['other/finalizer']);
    assert.equal(phase(), 'removable');
  });

  it('lets an object go that is being deleted', async () => {
    const { models, run } = setUp();
    models.put(aModel());
    models.remove(KEY);
    await run();
    assert.equal(models.object(KEY), undefined);
  });

  it('takes admission away first, after it has said that it uninstalls', async () => {
    const { api, models, run, phase } = setUp();
    const labels = { [BUNDLE_LABEL]: BUNDLE_NAME };
    const metadata = { name: 'ingester-finalizer', namespace: '', uid: 'w', resourceVersion: '1', labels };
    const webhooks = api.of('mutatingwebhookconfigurations');
    webhooks.put({ apiVersion: 'v1', kind: 'MutatingWebhookConfiguration', metadata });
    models.put(aModel());
    const seen: unknown[] = [];
    const patch = models.patch.bind(models);
    models.patch = (ref, body) => {
      seen.push(webhooks.object('/ingester-finalizer'), phase());
      return patch(ref, body);
    };
    const { result } = await run();
    assert.deepEqual(seen, [undefined, 'uninstalling']);
    assert.deepEqual(result?.admissionRemoved, ['mutatingwebhookconfigurations/ingester-finalizer']);
  });

  it('takes the registration of the query API away', async () => {
    const { api, run } = setUp();
    const labels = { [BUNDLE_LABEL]: BUNDLE_NAME };
    const metadata = { name: 'v2.stored.michelangelo.api', namespace: '', uid: 'r', resourceVersion: '1', labels };
    api.of('apiservices').put({ apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata });
    const { result } = await run();
    assert.deepEqual(result?.registrationsRemoved, ['apiservices/v2.stored.michelangelo.api']);
    assert.equal(api.of('apiservices').object('/v2.stored.michelangelo.api'), undefined);
  });

  it('waits until nothing is guarded for a while: what is created meanwhile loses its finalizer too', async () => {
    const { models, clock, run } = setUp();
    models.put(aModel());
    clock.schedule(900, () => models.put(aModel({ name: 'late', uid: 'late' })));
    const { result } = await run();
    assert.deepEqual(result?.finalizersRemoved, { Model: 2 });
  });

  it('tries again what changed under its hands', async () => {
    const { models, run } = setUp();
    models.put(aModel());
    models.failures.push({ call: 'patch', error: new KubeError('Conflict', 'modified') });
    const { result } = await run();
    assert.deepEqual(result?.finalizersRemoved, { Model: 1 });
  });

  it('skips a kind that is not installed', async () => {
    const { models, run, phase } = setUp();
    models.installed = false;
    assert.deepEqual((await run()).result?.finalizersRemoved, {});
    assert.equal(phase(), 'removable');
  });

  it('fails when the API server does, stays uninstalling, and goes on when it is run again', async () => {
    const { models, run, phase } = setUp();
    models.put(aModel());
    models.failures.push({ call: 'patch', error: new KubeError('Unavailable', 'down') });
    assert.ok((await run()).error instanceof KubeError);
    assert.equal(phase(), 'uninstalling');
    assert.deepEqual((await run()).result?.finalizersRemoved, { Model: 1 });
    assert.equal(phase(), 'removable');
  });

  it('gives up in time where something guards again and again, and never says removable', async () => {
    const { models, run, phase } = setUp({ timeoutMs: 3000 });
    models.put(aModel());
    const patch = models.patch.bind(models);
    models.patch = async (ref, body) => {
      await patch(ref, body);
      return models.put(aModel());
    };
    const { error } = await run();
    assert.ok(error instanceof UninstallStuckError);
    assert.equal(phase(), 'uninstalling');
  });

  it('goes on where the API server refuses to remove the finalizer of an object, and says what it said', async () => {
    const { models, run, phase } = setUp({ timeoutMs: 3000 });
    models.put(aModel());
    models.put(aModel({ name: 'other', uid: 'other' }));
    const patch = models.patch.bind(models);
    models.patch = (ref, body) =>
      ref.name === 'other' ? patch(ref, body) : Promise.reject(new KubeError('Refused', 'says a policy'));
    const { error } = await run();
    assert.ok(error instanceof UninstallStuckError);
    assert.match(error.message, /^1 objects .* refuses to remove the finalizer of some of them: says a policy$/);
    assert.equal(models.object('a-namespace/other')?.metadata.finalizers?.length, 0);
    assert.equal(phase(), 'uninstalling');
  });

  it('stops when it is told to, and says that it is not done', async () => {
    const { models, run, phase } = setUp({ signal: AbortSignal.abort() });
    models.put(aModel());
    assert.ok((await run()).error instanceof UninstallStoppedError);
    assert.equal(phase(), 'uninstalling');
  });

  it('says that it was stopped, not that a call failed, when the stop broke the call off', async () => {
    const stop = new AbortController();
    const { models, run } = setUp({ signal: stop.signal });
    models.list = () => {
      stop.abort();
      return Promise.reject(new KubeError('Unavailable', 'aborted'));
    };
    assert.ok((await run()).error instanceof UninstallStoppedError);
  });

  it('can be broken off at every call, with or without an effect, and ends well when it is run again', async () => {
    for (const effect of ['none', 'lost answer'] as const) {
      for (let at = 0; ; at += 1) {
        const { api, models, run, phase } = setUp();
        for (const name of ['one', 'two']) models.put(aModel({ name, uid: name }));
        let calls = 0;
        const ways = ['list', 'patch', 'mergePatch', 'create', 'delete'] as const;
        for (const way of ways) {
          const call = api[way].bind(api) as (...args: readonly unknown[]) => Promise<unknown>;
          const broken = async (...args: readonly unknown[]): Promise<unknown> => {
            const answer = calls === at && effect === 'none' ? undefined : await call(...args);
            calls += 1;
            if (calls === at + 1) throw new KubeError('Unavailable', 'broken off');
            return answer;
          };
          Object.assign(api, { [way]: broken });
        }
        const first = await run();
        const guarded = () =>
          ['one', 'two'].filter((name) => hasFinalizer(models.object(`a-namespace/${name}`) ?? aModel()));
        if (first.result !== undefined) break;
        assert.ok(phase() !== 'removable' || guarded().length === 0, `call ${at}`);
        assert.ok((await run()).result !== undefined, `call ${at}`);
        assert.deepEqual([phase(), guarded()], ['removable', []], `call ${at}`);
      }
    }
  });

  describe('whose namespace was deleted', () => {
    const gone = [
      new KubeError(
        'NotFound',
        'POST /api/v1/namespaces/ingester-system/configmaps: namespaces "ingester-system" not found',
      ),
      new KubeError(
        'Forbidden',
        'unable to create new content in namespace ingester-system because it is being terminated',
      ),
    ];
    const withoutNamespace = (error: KubeError) => {
      const world = setUp();
      world.api.of('configmaps').create = () => Promise.reject(error);
      world.models.put(aModel());
      return world;
    };

    it('frees every object and takes admission away all the same', async () => {
      for (const error of gone) {
        const { api, models, notes, run } = withoutNamespace(error);
        const labels = { [BUNDLE_LABEL]: BUNDLE_NAME };
        const metadata = { name: 'ingester-finalizer', namespace: '', uid: 'w', resourceVersion: '1', labels };
        const webhooks = api.of('mutatingwebhookconfigurations');
        webhooks.put({ apiVersion: 'v1', kind: 'MutatingWebhookConfiguration', metadata });
        const { result } = await run();
        assert.deepEqual(result?.finalizersRemoved, { Model: 1 });
        assert.deepEqual(models.object(KEY)?.metadata.finalizers, []);
        assert.equal(webhooks.object('/ingester-finalizer'), undefined);
        assert.match(notes[0] ?? '', /^The namespace ingester-system is deleted/);
      }
    });

    it('does nothing where the bundle is in another namespace, which it names', async () => {
      for (const error of gone) {
        const { api, models, run } = withoutNamespace(error);
        const labels = { [BUNDLE_LABEL]: BUNDLE_NAME };
        const metadata = { name: 'ingester-reconciler', namespace: 'renamed', uid: 'd', resourceVersion: '1', labels };
        api.of('deployments').put({ apiVersion: 'apps/v1', kind: 'Deployment', metadata });
        const { error: refused } = await run();
        assert.ok(refused instanceof UninstallElsewhereError);
        assert.match(refused.message, /the bundle is in renamed: nothing was done/);
        assert.deepEqual(models.object(KEY)?.metadata.finalizers, [FINALIZER]);
      }
    });

    it('is not taken for deleted where a right is missing', async () => {
      const { models, run } = withoutNamespace(new KubeError('Forbidden', 'cannot create resource "configmaps"'));
      assert.ok((await run()).error instanceof KubeError);
      assert.deepEqual(models.object(KEY)?.metadata.finalizers, [FINALIZER]);
    });
  });

  it('can be undone, and a missing marker means that no uninstall is under way', async () => {
    const { api, phase } = setUp();
    assert.equal(phase(), 'active');
    await setPhase(api, NAMESPACE, 'removable');
    assert.equal(phase(), 'removable');
    await setPhase(api, NAMESPACE, 'active');
    assert.equal(phase(), 'active');
  });
});
