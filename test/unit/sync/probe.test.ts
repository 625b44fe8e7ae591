import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER } from '../../../src/api/names.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { KubeClient, WriteOptions } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { ProbeFailedError } from '../../../src/sync/errors.ts';
import { probe } from '../../../src/sync/probe.ts';
import { FakeClock } from '../../support/fake-clock.ts';

type Answer = readonly string[] | KubeError;

/** Runs the probe against an API server that gives these answers, the last one again and again. */
async function probing(answers: readonly Answer[], timeoutMs: number) {
  const clock = new FakeClock();
  const [reasons, asked]: [string[], (WriteOptions | undefined)[]] = [[], []];
  const create: KubeClient['create'] = (_resource, _namespace, object, options) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(options);
    if (answer instanceof KubeError) return Promise.reject(answer);
    const { metadata } = object as KubernetesObject;
    return Promise.resolve({ ...(object as KubernetesObject), metadata: { ...metadata, finalizers: [...answer] } });
  };
  const outcome = probe({
    client: { create } as KubeClient,
    clock,
    namespace: 'ingester-system',
    timeoutMs,
    signal: new AbortController().signal,
    progress: (reason) => reasons.push(reason),
  }).then(
    () => 'guarded',
    (error: unknown) => error,
  );
  await clock.advance(10_000);
  return { outcome: await outcome, reasons, asked };
}

const refused = new KubeError('Unavailable', 'no endpoints available for service "ingester-webhook"');

describe('the probe', () => {
  it('is content with a dry run that comes back with the finalizer', async () => {
    const { outcome, asked } = await probing([[FINALIZER]], 0);
    assert.equal(outcome, 'guarded');
    assert.deepEqual(asked, [{ dryRun: true }]);
  });

  it('tries again while the webhook is not reached, and says so once', async () => {
    const { outcome, reasons, asked } = await probing([refused, refused, [FINALIZER]], 60_000);
    assert.equal(outcome, 'guarded');
    assert.equal(asked.length, 3);
    assert.equal(reasons.length, 1);
    assert.match(reasons[0] ?? '', /no endpoints/);
  });

  it('fails with the last reason when the time is over', async () => {
    const { outcome } = await probing([refused, []], 3000);
    assert.ok(outcome instanceof ProbeFailedError);
    assert.match(outcome.message, /without the finalizer/);
  });
});
