// The text of `ingester status`, and what it says of parts.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FullStatus } from '../../../src/app/commands/control.ts';
import { admissionState, silentReconciler, stuckPods } from '../../../src/app/commands/parts.ts';
import { PartFailsError, partsText, statusText } from '../../../src/cli/status.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';

const status = (more: Partial<FullStatus> = {}): FullStatus => ({
  ...{ at: '2026-01-01T00:00:00Z', instance: 'reconciler-1', storage: {}, kinds: [], spooled: 0 },
  ...{ failingObjects: { count: 0, listed: [] }, storageHistory: undefined, breakers: [], evictionPaused: false },
  ...{ ageMs: 4000, resources: [], parts: [], stuckPods: [] },
  ...more,
});
const ofBundle = { 'app.kubernetes.io/name': 'michelangelo-ingester' };
const failing = {
  count: 1,
  listed: [
    {
      ...{ kind: 'Model', namespace: 'ml', name: 'm1', since: '2026-01-01T00:00:00Z', attempts: 2 },
      ...{ code: 'ROW_REFUSED', message: 'too long' },
    },
  ],
};

describe('the text of ingester status', () => {
  it('says that every object is stored only as long as a reconciler tells', () => {
    assert.match(statusText(status()), /^Every object is stored\.$/m);
    const old = statusText(status({ ageMs: 9000 }));
    assert.doesNotMatch(old, /Every object/);
    assert.match(
      old,
      /^Which objects are stored is not known: the reconciler has told nothing since 2026-01-01T00:00:00Z\.$/m,
    );
  });

  it('says since when no replica has owned buckets, and not that every object is stored', () => {
    const text = statusText(status({ unownedBuckets: { count: 3, since: '2026-01-01T00:00:00Z' } }));
    assert.match(
      text,
      /^No replica has owned 3 of the 32 buckets since 2026-01-01T00:00:00Z: changes of their objects wait/m,
    );
    assert.doesNotMatch(text, /Every object is stored/);
  });

  it('lists what could not be dealt with, and whether that is still so is not known from an old report', () => {
    const line = /^ {2}Model ml\/m1 since /m;
    assert.match(statusText(status({ failingObjects: failing })), /^1 objects cannot be dealt with:$/m);
    const old = statusText(status({ failingObjects: failing, ageMs: 9000 }));
    assert.match(old, line);
    assert.match(old, /^Which objects are stored is not known: .* Then 1 objects could not be dealt with:$/m);
  });
});

describe('the parts of ingester status', () => {
  it('are told without the word of a reconciler, which fails then', () => {
    const [reconciler, storage] = silentReconciler('ingester-system');
    assert.deepEqual([reconciler?.state, storage?.state], ['fails', 'unknown']);
    assert.match(reconciler?.reason ?? '', /no status to the ConfigMap ingester-system\/ingester-status/);
  });

  it('say where to look with no more than kubectl', () => {
    const parts = (['reconciler', 'MySQL', 'admission', 'query API'] as const).map((part) => {
      return { part, state: 'fails' as const, reason: 'because' };
    });
    for (const part of parts) {
      const { message } = new PartFailsError([part], 'renamed');
      assert.match(message, new RegExp(`${part.part}: because \\(look: kubectl .*; runbook Ingester[A-Za-z]+\\)`));
      if (part.part !== 'query API') assert.match(message, / -n renamed/);
    }
  });

  it('name pods that do not start and why, also while those of before work, and that it is not known where pods may not be listed', async () => {
    const api = new FakeApiServer();
    api.install('pods');
    const metadata = {
      name: 'reconciler-2',
      namespace: 'ingester-system',
      uid: 'u',
      resourceVersion: '1',
      labels: ofBundle,
    };
    const terminated = { reason: 'Error', exitCode: 2, message: 'audit.perod: unknown key' };
    const waits = { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated } };
    api.of('pods').put({ apiVersion: 'v1', kind: 'Pod', metadata, status: { containerStatuses: [waits] } });
    const found = await stuckPods(api, 'ingester-system');
    const line = /^A pod does not start: .*reconciler-2.*CrashLoopBackOff audit\.perod: unknown key$/m;
    assert.match(statusText(status({ stuckPods: found })), line);
    assert.match(partsText({ parts: [], stuckPods: found }), line);
    api.list = () => Promise.reject(new KubeError('Forbidden', 'pods is forbidden'));
    const unknown = await stuckPods(api, 'ingester-system');
    assert.match(statusText(status({ stuckPods: unknown })), /^Whether pods start is not known/m);
    api.list = () => Promise.reject(new TypeError('a fault of the program'));
    await assert.rejects(stuckPods(api, 'ingester-system'), TypeError);
  });

  it('has admission asked in another namespace where that of the bundle was deleted', async () => {
    const gone = [
      new KubeError('NotFound', 'namespaces "ingester-system" not found'),
      new KubeError('Forbidden', 'forbidden: unable to create new content because it is being terminated'),
    ];
    for (const error of gone) {
      const api = new FakeApiServer();
      api.create = (_resource, namespace) =>
        Promise.reject(namespace === 'default' ? new KubeError('Unavailable', 'failed calling webhook') : error);
      assert.deepEqual(await admissionState(api, 'ingester-system'), {
        part: 'admission',
        state: 'fails',
        reason: 'failed calling webhook',
      });
    }
  });
});
