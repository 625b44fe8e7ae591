// The scenarios of client-go's reflector, by its names.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';
import { resource, run } from './reflector-fixture.ts';
import { added, bookmark, changed, gone, listed, RecordingSink, ScriptedClient } from './scripted-client.ts';

const busy = new KubeError('TooManyRequests', 'busy');
const down = new KubeError('Unavailable', 'connection refused');
const expired = new KubeError('Expired', 'too old resource version');

describe('Reflector', () => {
  it('TestReflectorListAndWatchWithErrors: goes on after every error, and sees everything', async () => {
    const fixture = await run(
      [
        ...[down, listed('2', ['a 1'], 'next'), down, listed('2', ['a 1'])],
        ...[listed('4', ['a 1', 'b 3']), listed('4', ['a 1', 'b 3'])],
      ],
      [[added('b', '3'), new KubeError('Forbidden', 'no')], [down], [changed('a', '5'), 'wait']],
    );
    await fixture.clock.advance(60_000);
    const lists = ['list', 'list', 'list next', 'list'];
    assert.deepEqual(fixture.client.calls, [...lists, 'watch 2', 'list', 'watch 4', 'list', 'watch 4']);
    assert.equal(fixture.sink.told.at(-1), 'changed a 5');
    await fixture.end();
  });

  it('TestReflectorListAndWatchInitConnBackoff: waits twice as long after each failure, up to five seconds while the server is down', async () => {
    const { client, clock, end } = await run(Array.from({ length: 20 }, () => down));
    for (const wait of [800, 1600, 3200, 5000, 5000]) {
      const before = client.lists.length;
      await clock.advance(wait - 1);
      assert.equal(client.lists.length, before);
      await clock.advance(1);
      assert.equal(client.lists.length, before + 1);
    }
    await end();
  });

  it('waits up to half a minute for a server that takes its time to fail', async () => {
    const { client, clock, end } = await run(Array.from({ length: 20 }, () => 'wait'));
    for (const wait of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
      const before = client.lists.length;
      await clock.advance(1000);
      client.break(down);
      await clock.advance(wait - 1);
      assert.equal(client.lists.length, before);
      await clock.advance(1);
      assert.equal(client.lists.length, before + 1);
    }
    await end();
  });

  it('shows nothing of the objects it does not keep, and is as far as if it had', async () => {
    const keeps = ({ name }: { readonly name: string }): boolean => name === 'own';
    const fixture = await run(
      [listed('4', ['own 1', 'theirs 2'])],
      [[added('theirs-too', '5'), changed('own', '6'), gone('theirs', '7'), changed('theirs-too', '8'), 'wait']],
      [],
      { keeps },
    );
    const { sink, reflector } = fixture;
    assert.deepEqual(
      sink.told.filter((told) => told.includes('theirs')),
      [],
    );
    assert.equal(sink.told.at(-1), 'changed own 6');
    assert.equal(reflector.resourceVersion, '8');
    await fixture.end();
  });

  it('is as far as a second watch that brings nothing of its own, where the server shows it nothing of others', async () => {
    const keeps = ({ name }: { readonly name: string }): boolean => name === 'own';
    const never = new AbortController().signal;
    const scripts = [
      ['wait'],
      ['taken', bookmark('9')],
      // A server without the gate.
      ['taken', added('theirs', '10'), bookmark('12')],
      ['taken'],
    ] as const;
    const { client, reflector, end } = await run([listed('4')], scripts, [], { keeps, shardSelector: 'some' });
    await reflector.lookAhead(never);
    assert.equal(reflector.resourceVersion, '9');
    await reflector.lookAhead(never);
    await reflector.lookAhead(never);
    assert.equal(reflector.resourceVersion, '12');
    const asked = client.watches.map(({ resourceVersion, shardSelector }) => [resourceVersion, shardSelector]);
    assert.deepEqual(
      asked,
      ['4', '4', '9', '12'].map((version) => [version, 'some']),
    );
    assert.deepEqual(client.asked, ['', '', ''], 'how far etcd is');
    await end();
  });

  it('goes no further than its own watch has brought it where a second one brings a change of its own', async () => {
    const { reflector, sink, end } = await run([listed('4')], [['wait'], ['taken', added('own', '5'), bookmark('9')]]);
    await reflector.lookAhead(new AbortController().signal);
    assert.equal(reflector.resourceVersion, '4');
    assert.ok(!sink.told.join().includes('own'), sink.told.join());
    await end();
  });

  it('believes nothing that a second watch says of the history before a list', async () => {
    const { client, reflector, clock, end } = await run(
      [listed('40'), listed('5')],
      [['wait'], ['wait'], ['taken', bookmark('90')]],
    );
    const stop = new AbortController();
    const watch = client.watch.bind(client);
    const second = Promise.withResolvers<undefined>();
    client.watch = async function* (...call) {
      client.watch = watch;
      await second.promise;
      yield* watch(...call);
    };
    const looking = reflector.lookAhead(stop.signal);
    client.break(new KubeError('Expired', 'gone'));
    await clock.advance(60_000);
    assert.equal(reflector.resourceVersion, '5');
    second.resolve(undefined);
    await looking;
    assert.equal(reflector.resourceVersion, '5');
    await end();
  });

  it('starts the backoff anew after two quiet minutes', async () => {
    const { client, clock, end } = await run([down, down, down, listed('1')], [['wait'], ['wait']]);
    await clock.advance(800 + 1600 + 3200);
    assert.deepEqual([client.lists.length, client.watches.length], [4, 1]);
    await clock.advance(120_001);
    client.break(down);
    await clock.advance(800);
    assert.equal(client.watches.length, 2);
    await end();
  });

  it('TestBackoffOnTooManyRequests, TestNoRelistOnTooManyRequests: waits, and watches on from where it was', async () => {
    const fixture = await run([listed('7')], [[busy], [busy], [busy], ['wait']]);
    await fixture.clock.advance(800 + 1600 + 3200);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'watch 7', 'watch 7', 'watch 7']);
    await fixture.end();
  });

  it('TestRetryInternalError: a server with an internal error is watched on, and not listed', async () => {
    const fixture = await run([listed('7')], [[new KubeError('Unavailable', 'HTTP 500')], ['wait']]);
    await fixture.clock.advance(800);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'watch 7']);
    await fixture.end();
  });

  it('TestReflectorWatchListPageSize: pages begin with few objects, of the newest state', async () => {
    const fixture = await run([listed('9', ['a 1'], 'next'), listed('9', ['b 1'])], [['wait']]);
    assert.deepEqual(
      fixture.client.lists.map(({ limit, continueToken }) => [limit, continueToken]),
      [
        [4, undefined],
        [16, 'next'],
      ],
    );
    assert.deepEqual(fixture.sink.told, ['list starts', 'listed a', 'listed b', 'list ends at 9']);
    await fixture.end();
  });

  it('TestReflectorExpiredExactResourceVersion, TestReflectorFullListIfExpired: a page that expired starts over at once, and removes nothing for it', async () => {
    const fixture = await run([listed('9', ['a 1'], 'next'), expired, listed('12', ['a 1'])], [['wait']]);
    assert.deepEqual(fixture.client.calls, ['list', 'list next', 'list', 'watch 12']);
    assert.deepEqual(fixture.sink.told, ['list starts', 'listed a', 'list starts', 'listed a', 'list ends at 12']);
    assert.equal(fixture.reflector.resourceVersion, '12');
    await fixture.end();
  });

  it('TestWatchTimeout: watches end, at random times, before they are taken for dead', async () => {
    const { client, clock, end } = await run([listed('1')], [[], ['wait']]);
    await clock.advance(1000);
    assert.equal(client.watches.length, 2);
    assert.ok(client.watches.every(({ timeoutSeconds }) => timeoutSeconds >= 80 && timeoutSeconds <= 125));
    await end();
  });

  it('TestReflectorResourceVersionUpdate: the version moves with every event and bookmark, and never back', async () => {
    const fixture = await run(
      [listed('10')],
      [[added('a', '11')], [changed('a', '12'), gone('a', '13'), bookmark('40')], [bookmark('39'), 'wait']],
    );
    await fixture.clock.advance(10_000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 10', 'watch 11', 'watch 40']);
    assert.equal(fixture.reflector.resourceVersion, '40');
    await fixture.end();
  });

  it('TestCloseWatchChannelOnError: a watch that reports an error is closed', async () => {
    const { client, clock, end } = await run([listed('1')], [[expired], ['wait']]);
    await clock.advance(0);
    assert.equal(client.open, 1);
    await end();
  });

  it('TestWatchListResourceVersion: lists the newest state, also after an established watch expired', async () => {
    const fixture = await run([listed('5'), listed('9')], [[added('a', '6'), expired], ['wait']]);
    await fixture.clock.advance(1000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 5', 'list', 'watch 9']);
    assert.equal(fixture.reflector.resourceVersion, '9');
    await fixture.end();
  });

  it('is stopped before it is synced', async () => {
    const fixture = await run([listed('1', ['a 1'], 'next'), 'wait']);
    await fixture.end();
    assert.deepEqual(fixture.sink.told, ['list starts', 'listed a']);
    assert.equal(fixture.reflector.resourceVersion, '');
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

describe('Reflector, with a list that waits for its sink', () => {
  it('has one small page ahead at the most, and is not taken for a server that is silent', async () => {
    const pages = [listed('9', ['a 1'], '2'), listed('9', ['b 1'], '3'), listed('9', ['c 1'])];
    const { client, clock, sink, watchdog, end } = await run(['wait', ...pages], [['wait']]);
    const taken = Promise.withResolvers<undefined>();
    sink.pace = taken.promise;
    client.break(down);
    await clock.advance(800);
    await clock.advance(300_000);
    assert.deepEqual(client.calls, ['list', 'list', 'list 2']);
    assert.deepEqual([sink.told.at(-1), watchdog.problem], ['listed a', undefined]);
    taken.resolve(undefined);
    await clock.advance(0);
    assert.deepEqual(client.calls.slice(3), ['list 3', 'watch 9']);
    assert.equal(sink.told.at(-1), 'list ends at 9');
    await end();
  });

  it('has no large page ahead', async () => {
    const large = { ...listed('9', ['a 1'], '2'), bytes: 3 * 1024 * 1024 };
    const fixture = await run(['wait', large, listed('9', ['b 1'])], [['wait']]);
    const taken = Promise.withResolvers<undefined>();
    fixture.sink.pace = taken.promise;
    fixture.client.break(down);
    await fixture.clock.advance(800);
    assert.deepEqual(fixture.client.calls, ['list', 'list']);
    taken.resolve(undefined);
    await fixture.clock.advance(0);
    assert.deepEqual(fixture.client.calls, ['list', 'list', 'list 2', 'watch 9']);
    await fixture.end();
  });

  it('says every ten seconds or so how far it is', async () => {
    const pages = ['1', '2', '3'].map((token) => listed('9', [`${token} 1`], token));
    const fixture = await run(['wait', ...pages, listed('9')], [['wait']]);
    const { clock, client, sink, logger } = fixture;
    let next = Promise.withResolvers<undefined>();
    sink.pace = next.promise;
    client.break(down);
    await clock.advance(800);
    for (let page = 0; page < 3; page += 1) {
      await clock.advance(6000);
      const before = next;
      next = Promise.withResolvers<undefined>();
      sink.pace = next.promise;
      before.resolve(undefined);
      await clock.advance(0);
    }
    next.resolve(undefined);
    await clock.advance(0);
    const told = logger.lines.filter(({ message }) => message === 'The list goes on');
    assert.deepEqual(
      told.map(({ objects, seconds }) => [objects, seconds]),
      [[2, 12]],
    );
    await fixture.end();
  });
});

describe('Reflector, with a server that answers at once and to no avail', () => {
  it('lists no more than a few times a minute where every watch expires', async () => {
    const fixture = await run(
      [],
      Array.from({ length: 1000 }, () => [expired]),
    );
    await fixture.clock.advance(60_000);
    assert.ok(fixture.client.lists.length <= 8, `${fixture.client.lists.length} lists in a minute`);
    await fixture.end();
  });

  it('watches no more than a few times a minute where every watch ends after its first event', async () => {
    const scripts = Array.from({ length: 1000 }, (_, version) => [bookmark(String(version + 2))]);
    const fixture = await run([listed('1')], scripts);
    await fixture.clock.advance(60_000);
    assert.ok(fixture.client.watches.length <= 9, `${fixture.client.watches.length} watches in a minute`);
    await fixture.end();
  });

  it('breaks off a list that brings nothing for a minute, and tries again', async () => {
    const fixture = await run(['wait', listed('2')], [['wait']]);
    await fixture.clock.advance(60_000);
    assert.match(String(fixture.watchdog.problem), /^list models was broken off/);
    await fixture.clock.advance(10_000);
    assert.deepEqual([fixture.client.calls, fixture.watchdog.problem], [['list', 'list', 'watch 2'], undefined]);
    await fixture.end();
  });
});
