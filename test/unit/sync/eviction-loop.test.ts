import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runEvictionLoop } from '../../../src/sync/eviction/eviction-loop.ts';
import { EvictionRule } from '../../../src/sync/eviction/eviction-rules.ts';
import { ChosenObjects } from '../../../src/sync/eviction/eviction-scan.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { aModel, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

it('rules rank all objects of an owner, and a replica evicts those of its own', async () => {
  const client = new FakeKubeClient();
  for (const day of [1, 2, 3, 4])
    client.put(aModel({ name: `day-${day}`, uid: `${day}`, creationTimestamp: `2026-01-0${day}T00:00:00Z` }));
  const [clock, stop, enqueued] = [new FakeClock(), new AbortController(), [] as string[]];
  const ended = runEvictionLoop(
    {
      ...{ client, clock, chosen: new ChosenObjects(), logger: new RecordingLogger() },
      resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
      rules: [new EvictionRule(modelKind, { name: 'old', kinds: ['Model'], keepLast: 1, when: 'true' })],
      // The newest of all is not this replica's.
      keeps: ({ uid }) => uid === '1' || uid === '3',
      isReady: () => true,
      requested: () => Promise.resolve([]),
      enqueue: (key) => enqueued.push(key),
      paused: () => false,
      intervalMs: 60_000,
    },
    stop.signal,
  );
  await clock.advance(1000);
  stop.abort();
  await clock.advance(0);
  await ended;
  assert.deepEqual(enqueued.toSorted(), ['a-namespace/day-1', 'a-namespace/day-3']);
});
