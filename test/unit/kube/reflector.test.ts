// The scenarios of client-go's reflector, by its names.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';
import { resource, run, watchesOf } from './reflector-fixture.ts';
import {
  added,
  bookmark,
  changed,
  gone,
  listEnd,
  object,
  RecordingSink,
  ScriptedClient,
  type Step,
} from './scripted-client.ts';

const busy = new KubeError('TooManyRequests', 'busy');
const down = new KubeError('Unavailable', 'connection refused');
const expired = new KubeError('Expired', 'too old resource version');
const refusesStreams = new KubeError('Invalid', 'sendInitialEvents is forbidden');

describe('Reflector', () => {
  it('TestReflectorListAndWatchWithErrors: goes on after every error, and sees everything', async () => {
    const fixture = await run([
      [down],
      [added('a', '1'), down],
      [added('a', '1'), listEnd('2'), added('b', '3'), new KubeError('Forbidden', 'no')],
      [added('a', '1'), added('b', '3'), listEnd('4'), down],
      [changed('a', '5'), 'wait'],
    ]);
    await fixture.clock.advance(60_000);
    assert.deepEqual(watchesOf(fixture), ['list', 'list', 'list', 'list', 'watch 4']);
    assert.equal(fixture.sink.told.at(-1), 'changed a 5');
    await fixture.end();
  });

  it('TestReflectorListAndWatchInitConnBackoff: waits twice as long after each failure, up to five seconds while the server is down', async () => {
    const fixture = await run(Array.from({ length: 20 }, () => [down]));
    const { client, clock, end } = fixture;
    for (const wait of [800, 1600, 3200, 5000, 5000]) {
      const before = client.watches.length;
      await clock.advance(wait - 1);
      assert.equal(client.watches.length, before);
      await clock.advance(1);
      assert.equal(client.watches.length, before + 1);
    }
    await end();
  });

  it('waits up to half a minute for a server that takes its time to fail', async () => {
    const { client, clock, end } = await run(Array.from({ length: 20 }, () => ['wait']));
    for (const wait of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
      const before = client.watches.length;
      await clock.advance(1000);
      client.break(down);
      await clock.advance(wait - 1);
      assert.equal(client.watches.length, before);
      await clock.advance(1);
      assert.equal(client.watches.length, before + 1);
    }
    await end();
  });

  it('starts the backoff anew after two quiet minutes', async () => {
    const { client, clock, end } = await run([[down], [down], [down], [listEnd('1'), 'wait'], ['wait']]);
    await clock.advance(800 + 1600 + 3200);
    assert.equal(client.watches.length, 4);
    await clock.advance(120_001);
    client.break(down);
    await clock.advance(800);
    assert.equal(client.watches.length, 5);
    await end();
  });

  it('TestBackoffOnTooManyRequests, TestNoRelistOnTooManyRequests: waits, and watches on from where it was', async () => {
    const fixture = await run([[listEnd('7'), busy], [busy], [busy], ['wait']]);
    await fixture.clock.advance(800 + 1600 + 3200);
    assert.deepEqual(watchesOf(fixture), ['list', 'watch 7', 'watch 7', 'watch 7']);
    await fixture.end();
  });

  it('TestRetryInternalError: a server with an internal error is watched on, and not listed', async () => {
    const fixture = await run([[listEnd('7'), new KubeError('Unavailable', 'HTTP 500')], ['wait']]);
    await fixture.clock.advance(800);
    assert.deepEqual(watchesOf(fixture), ['list', 'watch 7']);
    await fixture.end();
  });

  it('TestReflectorWatchListPageSize: pages begin with few objects, of the newest state', async () => {
    const page = (name: string, continueToken: string | undefined) => ({
      items: [asWatched(object(name, '1'))],
      resourceVersion: '9',
      continueToken,
    });
    const fixture = await run([[refusesStreams], ['wait']], [page('a', 'next'), page('b', undefined)]);
    assert.deepEqual(
      fixture.client.lists.map(({ limit, continueToken }) => [limit, continueToken]),
      [
        [4, undefined],
        [16, 'next'],
      ],
    );
    // The one that was refused has started, too.
    assert.deepEqual(fixture.sink.told, ['list starts', 'list starts', 'listed a', 'listed b', 'list ends at 9']);
    await fixture.end();
  });

  it('TestReflectorExpiredExactResourceVersion, TestReflectorFullListIfExpired: a page that expired starts over at once', async () => {
    const first = { items: [asWatched(object('a', '1'))], resourceVersion: '9', continueToken: 'next' };
    const whole = { items: [asWatched(object('a', '1'))], resourceVersion: '12', continueToken: undefined };
    const fixture = await run([[refusesStreams], ['wait']], [first, expired, whole]);
    assert.deepEqual(
      fixture.client.lists.map(({ continueToken }) => continueToken),
      [undefined, 'next', undefined],
    );
    assert.equal(fixture.reflector.resourceVersion, '12');
    await fixture.end();
  });

  it('TestWatchTimeout: watches last five to ten minutes, at random', async () => {
    const { client, end } = await run([[listEnd('1')], ['wait']]);
    assert.ok(client.watches.every(({ timeoutSeconds }) => timeoutSeconds >= 300 && timeoutSeconds <= 600));
    await end();
  });

  it('TestReflectorResourceVersionUpdate: the version moves with every event and bookmark, and never back', async () => {
    const fixture = await run([
      [listEnd('10'), added('a', '11')],
      [changed('a', '12'), gone('a', '13')],
      [bookmark('40')],
      [bookmark('39'), 'wait'],
    ]);
    await fixture.clock.advance(10_000);
    assert.deepEqual(watchesOf(fixture), ['list', 'watch 11', 'watch 13', 'watch 40']);
    assert.equal(fixture.reflector.resourceVersion, '40');
    await fixture.end();
  });

  it('TestCloseWatchChannelOnError: a watch that reports an error is closed', async () => {
    const { client, clock, end } = await run([[listEnd('1'), expired], ['wait']]);
    await clock.advance(0);
    assert.equal(client.open, 1);
    await end();
  });

  it('asks a server for bookmarks with the deadline for silence it was given', async () => {
    const client = new ScriptedClient();
    const stop = new AbortController();
    const [clock, logger, sink] = [new FakeClock(), new RecordingLogger(), new RecordingSink()];
    const options = { client: client as unknown as KubeClient, resource, sink, clock, logger, silenceMs: 2000 };
    const finished = new Reflector(options).run(stop.signal);
    await clock.advance(0);
    assert.equal(client.watches[0]?.silenceMs, 2000);
    stop.abort();
    await finished;
  });
});

describe('Reflector, with a server that answers at once and to no avail', () => {
  it('lists no more than a few times a minute where every watch expires', async () => {
    const fixture = await run(Array.from({ length: 1000 }, (_, version) => [listEnd(String(version + 1)), expired]));
    await fixture.clock.advance(60_000);
    assert.ok(fixture.client.watches.length <= 8, `${fixture.client.watches.length} lists in a minute`);
    await fixture.end();
  });

  it('pages no more than a few times a minute where every watch expires', async () => {
    const scripts: readonly Step[][] = [[refusesStreams], ...Array.from({ length: 1000 }, () => [expired])];
    const fixture = await run(scripts);
    await fixture.clock.advance(60_000);
    assert.ok(fixture.client.lists.length <= 8, `${fixture.client.lists.length} lists in a minute`);
    await fixture.end();
  });

  it('watches no more than a few times a minute where every watch ends after its first event', async () => {
    const fixture = await run([
      [listEnd('1')],
      ...Array.from({ length: 1000 }, (_, version) => [bookmark(String(version + 2))]),
    ]);
    await fixture.clock.advance(60_000);
    assert.ok(fixture.client.watches.length <= 9, `${fixture.client.watches.length} watches in a minute`);
    await fixture.end();
  });

  it('breaks off a list that brings nothing for a minute, and tries again', async () => {
    const fixture = await run([['wait'], [listEnd('2'), 'wait']]);
    await fixture.clock.advance(60_000);
    assert.match(String(fixture.watchdog.problem), /^list models was broken off/);
    await fixture.clock.advance(10_000);
    assert.deepEqual([watchesOf(fixture), fixture.watchdog.problem], [['list', 'list'], undefined]);
    await fixture.end();
  });
});

describe('Reflector, with a streaming list (TestWatchList)', () => {
  it('lists and watches with one call', async () => {
    const fixture = await run([[added('a', '1'), listEnd('5'), changed('a', '6'), 'wait']]);
    assert.deepEqual(fixture.sink.told, ['list starts', 'listed a', 'list ends at 5', 'changed a 6']);
    assert.deepEqual(watchesOf(fixture), ['list']);
    await fixture.end();
  });

  it('falls back to pages for good when the server does not support a streaming list', async () => {
    const fixture = await run([[refusesStreams], [expired], ['wait']]);
    await fixture.clock.advance(1000);
    assert.deepEqual(watchesOf(fixture), ['list', 'watch 1', 'watch 1']);
    assert.equal(fixture.client.lists.length, 2);
    await fixture.end();
  });

  for (const [what, error] of [
    ['429', busy],
    ['a connection that is refused', down],
  ] as const) {
    it(`tries a streaming list again after ${what}, and does not fall back`, async () => {
      const fixture = await run([[error], [listEnd('2'), 'wait']]);
      await fixture.clock.advance(800);
      assert.deepEqual([watchesOf(fixture), fixture.client.lists], [['list', 'list'], []]);
      await fixture.end();
    });
  }

  it('lists anew when the stream ends before the bookmark, and removes nothing for it', async () => {
    const fixture = await run([[added('a', '1')], [added('a', '1'), listEnd('2'), 'wait']]);
    await fixture.clock.advance(800);
    assert.deepEqual(fixture.sink.told, ['list starts', 'listed a', 'list starts', 'listed a', 'list ends at 2']);
    await fixture.end();
  });

  it('lists anew when the list expires before the bookmark', async () => {
    const fixture = await run([
      [added('a', '1'), expired],
      [added('a', '1'), listEnd('2'), 'wait'],
    ]);
    assert.equal(fixture.sink.told.at(-1), 'list ends at 2');
    await fixture.end();
  });

  it('takes a bookmark without the annotation for none: the list goes on', async () => {
    const fixture = await run([[added('a', '1'), bookmark('3'), added('b', '2'), listEnd('4'), 'wait']]);
    assert.deepEqual(fixture.sink.told, ['list starts', 'listed a', 'listed b', 'list ends at 4']);
    await fixture.end();
  });

  it('is stopped before it is synced', async () => {
    const fixture = await run([[added('a', '1'), 'wait']]);
    await fixture.end();
    assert.deepEqual(fixture.sink.told, ['list starts', 'listed a']);
    assert.equal(fixture.reflector.resourceVersion, '');
  });

  it('takes updates and removals while the list streams', async () => {
    const fixture = await run([
      [added('a', '1'), changed('a', '3'), added('b', '2'), gone('b', '4'), listEnd('5'), 'wait'],
    ]);
    assert.deepEqual(fixture.sink.told, [
      'list starts',
      'listed a',
      'listed a',
      'listed b',
      'removed b',
      'list ends at 5',
    ]);
    await fixture.end();
  });

  it('TestWatchListResourceVersion: lists the newest state, also after an established watch expired', async () => {
    const fixture = await run([
      [listEnd('5'), added('a', '6'), expired],
      [listEnd('9'), 'wait'],
    ]);
    await fixture.clock.advance(1000);
    assert.deepEqual(watchesOf(fixture), ['list', 'list']);
    assert.deepEqual(
      fixture.client.watches.map(({ resourceVersion }) => resourceVersion),
      ['', ''],
    );
    assert.equal(fixture.reflector.resourceVersion, '9');
    await fixture.end();
  });

  it('TestInitialEventsEndBookmarkTicker: warns every ten seconds until the list ends, and not after', async () => {
    const unfinished = await run([[added('a', '1'), 'wait']]);
    await unfinished.clock.advance(35_000);
    const seconds = unfinished.logger.lines.map((line) => line['seconds']);
    assert.deepEqual(seconds, [10, 20, 30]);
    await unfinished.end();
    const finished = await run([[listEnd('1'), 'wait']]);
    await finished.clock.advance(35_000);
    assert.deepEqual(finished.logger.messages(), []);
    await finished.end();
  });
});
