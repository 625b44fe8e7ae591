import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { IngesterStatus } from '../../../src/sync/status/status.ts';
import { runStatusWriter } from '../../../src/sync/status/status-writer.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

describe('the status that the leader of several replicas writes', () => {
  it('says how many buckets have had no owner, once that has lasted for a minute', async () => {
    const clock = new FakeClock();
    let written: Partial<IngesterStatus> = {};
    let unowned: { readonly buckets: number; readonly since: Date } | undefined;
    const stop = new AbortController();
    const none = { list: () => [], count: 0 };
    const running = runStatusWriter(
      {
        client: {
          mergePatch: (_, patch) => {
            const { data } = patch as { readonly data: Readonly<Record<string, string>> };
            written = JSON.parse(data['status.json'] ?? '{}') as IngesterStatus;
            return Promise.resolve({ metadata: {}, data } as unknown as KubernetesObject);
          },
        },
        ...{ namespace: 'system', kinds: () => [], failingObjects: none, incompleteProtos: none },
        ...{ monitor: { problem: undefined, problemSince: undefined }, spooled: () => ({ waiting: 0, aside: 0 }) },
        ...{ history: { status: undefined }, onFailingObjects: () => undefined, clock, logger: new RecordingLogger() },
        share: { name: 'one', leads: () => true, replicas: () => 3, unowned: () => unowned },
      },
      stop.signal,
    );
    const since = clock.now();
    unowned = { buckets: 3, since };
    await clock.advance(50_000);
    assert.equal(written.unownedBuckets, undefined);
    await clock.advance(20_000);
    assert.deepEqual(written.unownedBuckets, { count: 3, since: since.toISOString() });
    unowned = undefined;
    await clock.advance(10_000);
    assert.equal(written.unownedBuckets, undefined);
    stop.abort();
    await clock.advance(2000);
    await running;
  });
});
