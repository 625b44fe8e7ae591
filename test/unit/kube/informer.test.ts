import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import { Informer } from '../../../src/kube/informer.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { aModel } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

function setUp() {
  const client = new FakeKubeClient();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const changed: string[] = [];
  const onChange = (key: string): void => void changed.push(key);
  const informer = new Informer({ client, resource, clock, logger, onChange, random: () => 0 });
  const stop = new AbortController();
  const start = () => {
    const finished = informer.run(stop.signal);
    return () => (stop.abort(), finished);
  };
  const take = () => changed.splice(0).sort();
  return { client, clock, logger, informer, start, take };
}

const key = (name: string): string => `a-namespace/${name}`;

describe('Informer', () => {
  it('reports every object of the initial list, and is synced only then', async () => {
    const { client, clock, informer, start, take } = setUp();
    for (let index = 0; index < 1201; index += 1) client.put(aModel({ name: `m${index}`, uid: `u${index}` }));
    assert.equal(informer.synced, false);
    const stop = start();
    await clock.advance(0);
    assert.equal(informer.synced, true);
    assert.equal(take().length, 1201);
    assert.equal(client.calls.filter((call) => call === 'list').length, 3);
    await stop();
  });

  it('reports additions, changes and removals, and reads the latest state', async () => {
    const { client, clock, informer, start, take } = setUp();
    const stop = start();
    await clock.advance(0);
    client.put(aModel({ name: 'a', finalizers: [] }));
    client.put(aModel({ name: 'a', finalizers: [] }, { algorithm: 'newer' }));
    await clock.advance(0);
    assert.deepEqual(take(), [key('a'), key('a')]);
    assert.deepEqual(informer.get(key('a'))?.['spec'], { algorithm: 'newer' });
    client.remove(key('a'));
    await clock.advance(0);
    assert.deepEqual(take(), [key('a')]);
    assert.equal(informer.get(key('a')), undefined);
    await stop();
  });

  it('resumes a broken watch where it was, without listing again', async () => {
    const { client, clock, start, take } = setUp();
    const stop = start();
    await clock.advance(0);
    client.cut();
    await clock.advance(0);
    client.put(aModel({ name: 'during-the-outage' }));
    await clock.advance(60_000);
    assert.deepEqual(take(), [key('during-the-outage')]);
    assert.equal(client.calls.filter((call) => call === 'list').length, 1);
    await stop();
  });

  it('lists again when the watch expired, and reports what changed and what vanished in between', async () => {
    const { client, clock, informer, start, take } = setUp();
    client.put(aModel({ name: 'stays' }));
    client.put(aModel({ name: 'changes' }));
    client.put(aModel({ name: 'vanishes', finalizers: [] }));
    const stop = start();
    await clock.advance(0);
    take();
    client.failures.push({ call: 'watch', error: new KubeError('Expired', 'too old') });
    client.cut();
    await clock.advance(0);
    client.put(aModel({ name: 'changes' }, { algorithm: 'new' }));
    client.remove(key('vanishes'));
    client.put(aModel({ name: 'appears' }));
    client.compact();
    await clock.advance(60_000);
    assert.deepEqual(take(), [key('appears'), key('changes'), key('vanishes')]);
    assert.equal(informer.get(key('vanishes')), undefined);
    await stop();
  });

  it('keeps trying while the API server is away, ever more slowly, and says so once', async () => {
    const { client, clock, logger, informer, start } = setUp();
    for (let index = 0; index < 5; index += 1) {
      client.failures.push({ call: 'list', error: new KubeError('Unavailable', 'connection refused') });
    }
    const stop = start();
    await clock.advance(0);
    assert.equal(informer.synced, false);
    await clock.advance(60_000);
    assert.equal(informer.synced, true);
    assert.equal(logger.messages().filter((message) => message.startsWith('List failed')).length, 1);
    await stop();
  });

  it('honours the wait an overloaded API server asks for', async () => {
    const { client, clock, informer, start } = setUp();
    const error = new KubeError('TooManyRequests', 'busy', { retryAfterMs: 20_000 });
    client.failures.push({ call: 'list', error });
    const stop = start();
    await clock.advance(19_999);
    assert.equal(informer.synced, false);
    await clock.advance(1);
    assert.equal(informer.synced, true);
    await stop();
  });

  it('waits for a CRD that is not installed, says which once, and starts when it appears', async () => {
    const { client, clock, logger, informer, start, take } = setUp();
    client.installed = false;
    const stop = start();
    await clock.advance(30_000);
    assert.equal(informer.installed, false);
    const waiting = logger.messages().filter((message) => message.includes('models.michelangelo.api is not installed'));
    assert.equal(waiting.length, 1);
    client.installed = true;
    client.put(aModel({ name: 'first' }));
    await clock.advance(5000);
    assert.equal(informer.installed, true);
    assert.deepEqual(take(), [key('first')]);
    await stop();
  });

  it('does not ask in a tight loop a server that closes every watch at once', async () => {
    const { client, clock, start } = setUp();
    client.watch = (...args) => {
      return FakeKubeClient.prototype.watch.apply(client, [args[0], args[1], AbortSignal.abort()]);
    };
    const stop = start();
    await clock.advance(60_000);
    assert.ok(client.calls.filter((call) => call === 'watch').length < 15);
    await stop();
  });

  it('leaves no timer behind when it stops', async () => {
    const { client, clock, start } = setUp();
    client.failures.push({ call: 'list', error: new KubeError('Unavailable', 'connection refused') });
    const stop = start();
    await clock.advance(0);
    await stop();
    assert.equal(clock.pending, 0);
  });
});
