import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { Canary, isCanary } from '../../../src/lifecycle/reconcile/canary.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const KEY = 'system/canary';
const resource = { group: 'g', version: 'v', plural: 'p' };

function aCanary(annotations: Readonly<Record<string, string>> = {}): KubernetesObject {
  const labels = { 'michelangelo/canary': 'true' };
  const metadata = { namespace: 'system', name: 'canary', uid: 'u', resourceVersion: '1', labels, annotations };
  return { apiVersion: 'v1', kind: 'Ingester', metadata };
}

function setUp() {
  const clock = new FakeClock();
  const beats: string[] = [];
  const server = { works: true };
  const client = {
    mergePatch: (_: object, patch: object) => {
      if (!server.works) return Promise.reject(new Error('away'));
      const { metadata } = patch as { metadata: { annotations: Readonly<Record<string, string>> } };
      beats.push(metadata.annotations['michelangelo/canary-beat'] ?? '');
      return Promise.resolve(aCanary());
    },
  };
  const canary = new Canary({ client, resource, clock, logger: new RecordingLogger() });
  const stop = new AbortController();
  const run = (): Promise<void> => canary.run(stop.signal);
  const reconciled = (): void => canary.seen(KEY, aCanary({ 'michelangelo/canary-beat': beats.at(-1) ?? '' }));
  return { clock, beats, server, canary, run, reconciled, stop };
}

describe('a canary', () => {
  it('is an Ingester resource with its label, and nothing else is', () => {
    assert.ok(isCanary(aCanary()));
    assert.ok(!isCanary({ ...aCanary(), metadata: { ...aCanary().metadata, labels: {} } }));
  });

  it('is touched again when a reconcile has seen it, and complains a minute after none has', async () => {
    const { clock, beats, canary, run, reconciled, stop } = setUp();
    reconciled();
    const running = run();
    await clock.advance(0);
    assert.equal(beats.length, 1);
    reconciled();
    await clock.advance(20_000);
    assert.equal(beats.length, 2);
    await clock.advance(60_000);
    assert.deepEqual([beats.length, canary.problem()], [2, undefined]);
    // A reconcile of what it was before says nothing.
    canary.seen(KEY, aCanary());
    await clock.advance(1000);
    assert.match(canary.problem() ?? '', /^no reconcile of system\/canary within 60 s/);
    reconciled();
    assert.equal(canary.problem(), undefined);
    stop.abort();
    await running;
  });

  it('says nothing of an API server that is away, of one that is deleted, and where this process does not lead', async () => {
    const { clock, server, canary, run, reconciled, stop } = setUp();
    reconciled();
    await clock.advance(120_000);
    assert.equal(canary.problem(), undefined, 'no process runs it');
    server.works = false;
    const running = run();
    await clock.advance(120_000);
    assert.equal(canary.problem(), undefined);
    server.works = true;
    await clock.advance(100_000);
    assert.notEqual(canary.problem(), undefined);
    canary.gone(KEY);
    assert.equal(canary.problem(), undefined);
    stop.abort();
    await running;
  });
});
