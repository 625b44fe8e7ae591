import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CodedError } from '../../../src/base/errors.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import type { ResourceHandler } from '../../../src/kube/handler.ts';
import { Informer } from '../../../src/kube/informer.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import type { KnownObject } from '../../../src/kube/watched-object.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { aModel } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';
import { changed, gone, listed, ScriptedClient } from './scripted-client.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

/** A handler that writes down what it is told. */
function recorder() {
  const told: string[] = [];
  const name = ({ identity }: KnownObject): string => identity.name;
  const handler: ResourceHandler = {
    add: (object, initial) => void told.push(`add ${name(object)}${initial ? ' initial' : ''}`),
    update: (before, after) => {
      const same = before.identity.resourceVersion === after.identity.resourceVersion;
      told.push(`update ${name(after)}${same ? ' unchanged' : ''}`);
    },
    delete: (object, unknown) => void told.push(`delete ${name(object)}${unknown ? ' unknown' : ''}`),
  };
  return { handler, take: () => told.splice(0).sort() };
}

/** To be told of an object takes longer than one tick of the event loop may take. */
function slow(handler: ResourceHandler): ResourceHandler {
  return {
    ...handler,
    add: (object, initial) => {
      handler.add(object, initial);
      const end = performance.now() + 11;
      while (performance.now() < end);
    },
  };
}

function setUp() {
  const client = new FakeKubeClient();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const store = new IdentityStore();
  const informer = new Informer({ client, resource, store, clock, logger, random: () => 0 });
  const { handler, take } = recorder();
  const registration = informer.addHandler(handler);
  const stop = new AbortController();
  const start = () => {
    const finished = informer.run(stop.signal);
    return () => (stop.abort(), finished);
  };
  const calls = (name: string) => client.calls.filter((call) => call === name).length;
  return { client, clock, logger, informer, registration, start, take, calls };
}

describe('Informer, after a restore of the server', () => {
  it('follows an object that had ended and is there again in an earlier state', async () => {
    const client = new ScriptedClient();
    const down = new KubeError('Unavailable', 'connection refused');
    client.listScripts.push(listed('800', ['a 300']), listed('500', ['a 400']));
    client.watchScripts.push([gone('a', '900'), down], [changed('a', '510'), 'wait']);
    client.versions.push('450');
    const [clock, logger, store, stop] = [
      new FakeClock(),
      new RecordingLogger(),
      new IdentityStore(),
      new AbortController(),
    ];
    const common = { resource, store, clock, logger, random: () => 0 };
    const informer = new Informer({ client: client, ...common });
    const versions: string[] = [];
    const note = ({ identity }: KnownObject): void => void versions.push(identity.resourceVersion);
    informer.addHandler({ add: note, update: (_before, after) => note(after), delete: () => undefined });
    const finished = informer.run(stop.signal);
    await clock.advance(800 + 1600);
    assert.deepEqual(versions, ['300', '400', '510']);
    stop.abort();
    await finished;
  });

  it('keeps the content of no object from before, also where the restored server gives out a version again', async () => {
    const client = new ScriptedClient();
    const down = new KubeError('Unavailable', 'connection refused');
    client.listScripts.push(listed('800', ['a 300']), listed('500', ['a 300', 'b 400']));
    client.watchScripts.push([down], ['wait']);
    client.versions.push('450');
    const [clock, store, stop] = [new FakeClock(), new IdentityStore(), new AbortController()];
    const options = { client, resource, store, clock, logger: new RecordingLogger(), random: () => 0 };
    const finished = new Informer(options).run(stop.signal);
    await clock.advance(0);
    assert.notEqual(store.get('a-namespace/a'), undefined);
    await clock.advance(800 + 1600);
    assert.deepEqual([store.has('a-namespace/a'), store.get('a-namespace/a')], [true, undefined]);
    assert.notEqual(store.get('a-namespace/b'), undefined);
    stop.abort();
    await finished;
  });
});

describe('Informer over a list', () => {
  it('tells of every object of the initial list, and is synced only then', async () => {
    const { client, clock, informer, registration, start, take } = setUp();
    for (let index = 0; index < 1201; index += 1) client.put(aModel({ name: `m${index}`, uid: `u${index}` }));
    assert.deepEqual([informer.synced, registration.synced], [false, false]);
    const stop = start();
    await clock.advance(0);
    assert.deepEqual([informer.synced, registration.synced], [true, true]);
    const told = take();
    assert.equal(told.length, 1201);
    assert.ok(told.every((line) => line.endsWith(' initial')));
    assert.equal(informer.store.size, 1201);
    await stop();
  });

  it('tells of additions, changes with the state before, and removals', async () => {
    const { client, clock, informer, start, take } = setUp();
    const stop = start();
    await clock.advance(0);
    client.put(aModel({ name: 'a', finalizers: [] }));
    client.put(aModel({ name: 'a', finalizers: [] }, { algorithm: 'newer' }));
    await clock.advance(0);
    assert.deepEqual(take(), ['add a', 'update a']);
    assert.deepEqual(informer.store.get('a-namespace/a')?.parse()['spec'], { algorithm: 'newer' });
    client.remove('a-namespace/a');
    await clock.advance(0);
    assert.deepEqual(take(), ['delete a']);
    assert.equal(informer.store.get('a-namespace/a'), undefined);
    await stop();
  });

  it('TestResetWatch: resumes a broken watch where it was, without listing again', async () => {
    const { client, clock, start, take, calls } = setUp();
    const stop = start();
    await clock.advance(0);
    const lists = calls('list');
    client.cut();
    await clock.advance(0);
    client.put(aModel({ name: 'during-the-outage' }));
    await clock.advance(60_000);
    assert.deepEqual(take(), ['add during-the-outage']);
    assert.equal(calls('list'), lists);
    await stop();
  });

  it('TestSharedInformerWatchDisruption, TestReplaceEvents, TestRealFIFO_ReplaceMakesDeletions: lists again when the watch expired, and delivers what changed and what was removed', async () => {
    const { client, clock, informer, start, take } = setUp();
    for (const name of ['stays', 'changes']) client.put(aModel({ name, uid: name }));
    client.put(aModel({ name: 'vanishes', uid: 'vanishes', finalizers: [] }));
    client.put(aModel({ name: 'reborn', uid: 'first', finalizers: [] }));
    const stop = start();
    await clock.advance(0);
    take();
    client.failures.push({ call: 'watch', error: new KubeError('Expired', 'too old') });
    client.cut();
    await clock.advance(0);
    client.put(aModel({ name: 'changes', uid: 'changes' }, { algorithm: 'new' }));
    for (const name of ['vanishes', 'reborn']) client.remove(`a-namespace/${name}`);
    client.put(aModel({ name: 'reborn', uid: 'second' }));
    client.put(aModel({ name: 'appears', uid: 'appears' }));
    client.compact();
    await clock.advance(60_000);
    assert.deepEqual(take(), [
      'add appears',
      'add reborn',
      'delete reborn unknown',
      'delete vanishes unknown',
      'update changes',
      'update stays unchanged',
    ]);
    assert.equal(informer.store.size, 4);
    await stop();
  });

  it('removes nothing when a list breaks in the middle', async () => {
    const { client, clock, informer, start, take } = setUp();
    client.put(aModel({ name: 'a', uid: 'a' }));
    const stop = start();
    await clock.advance(0);
    client.failures.push({ call: 'watch', error: new KubeError('Expired', 'too old') });
    client.failures.push({ call: 'list', error: new KubeError('Unavailable', 'cut') });
    client.cut();
    await clock.advance(1600);
    assert.ok(informer.store.has('a-namespace/a'));
    assert.ok(!take().some((line) => line.startsWith('delete')));
    await clock.advance(60_000);
    assert.ok(informer.store.has('a-namespace/a'));
    await stop();
  });

  it('TestSharedInformerErrorHandling: keeps trying while the API server is away, and says so once', async () => {
    const { client, clock, logger, informer, start } = setUp();
    for (let index = 0; index < 5; index += 1) {
      const error = new KubeError('Unavailable', 'connection refused');
      client.failures.push({ call: 'list', error });
    }
    const stop = start();
    await clock.advance(0);
    assert.equal(informer.synced, false);
    await clock.advance(60_000);
    assert.equal(informer.synced, true);
    assert.equal(logger.messages().filter((message) => message.startsWith('List failed')).length, 1);
    await stop();
  });

  it('honours the wait an overloaded API server asks for, and does not list for it', async () => {
    const { client, clock, start, take, calls } = setUp();
    const stop = start();
    await clock.advance(0);
    const lists = calls('list');
    const error = new KubeError('TooManyRequests', 'busy', { retryAfterMs: 20_000 });
    client.failures.push({ call: 'stream', error });
    client.put(aModel({ name: 'a' }));
    await clock.advance(0);
    client.put(aModel({ name: 'b' }));
    await clock.advance(19_999);
    assert.deepEqual(take(), []);
    await clock.advance(1);
    assert.deepEqual(take(), ['add a', 'add b']);
    assert.equal(calls('list'), lists);
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
    assert.deepEqual(take(), ['add first initial']);
    await stop();
  });

  it('does not ask in a tight loop a server that closes every watch at once', async () => {
    const { client, clock, start, calls } = setUp();
    client.watch = (...args) => {
      const [watched, options] = args;
      return FakeKubeClient.prototype.watch.apply(client, [watched, options, AbortSignal.abort()]);
    };
    const stop = start();
    await clock.advance(0);
    client.cut();
    await clock.advance(60_000);
    assert.ok(calls('watch') < 15, String(calls('watch')));
    await stop();
  });

  it('TestShutdown: leaves no timer behind when it stops', async () => {
    const { client, clock, start } = setUp();
    client.failures.push({ call: 'list', error: new KubeError('Unavailable', 'connection refused') });
    const stop = start();
    await clock.advance(0);
    await stop();
    assert.equal(clock.pending, 0);
  });
});

describe('Informer', () => {
  it('TestAddWhileActive, TestSharedInformerRemoveHandler: gives a late handler what is there as its own initial list', async () => {
    const { client, clock, informer, start } = setUp();
    client.put(aModel({ name: 'a' }));
    const stop = start();
    await clock.advance(0);
    const late = recorder();
    const registration = informer.addHandler(late.handler);
    assert.equal(registration.synced, true);
    assert.deepEqual(late.take(), ['add a initial']);
    client.put(aModel({ name: 'b' }));
    await clock.advance(0);
    assert.deepEqual(late.take(), ['add b']);
    registration.remove();
    client.put(aModel({ name: 'c' }));
    await clock.advance(0);
    assert.deepEqual(late.take(), []);
    await stop();
  });

  it('yields to the event loop while a late handler is told of much, and tells it of each object and change once', async () => {
    const { client, clock, informer, start } = setUp();
    for (const name of ['a', 'b', 'c', 'd']) client.put(aModel({ name, uid: name, finalizers: [] }));
    const stop = start();
    await clock.advance(0);
    const late = recorder();
    const registration = informer.addHandler(slow(late.handler));
    assert.deepEqual([late.take(), registration.synced], [['add a initial'], false]);
    client.put(aModel({ name: 'a', uid: 'a' }));
    client.put(aModel({ name: 'c', uid: 'c' }));
    client.remove('a-namespace/d');
    await clock.advance(0);
    assert.deepEqual([late.take(), registration.synced], [['add b initial', 'add c initial', 'update a'], true]);
    await stop();
  });

  it('tells a late handler nothing more once it is removed, also of objects that were there before', async () => {
    const { client, clock, informer, start } = setUp();
    for (const name of ['a', 'b']) client.put(aModel({ name, uid: name }));
    const stop = start();
    await clock.advance(0);
    const late = recorder();
    const registration = informer.addHandler(slow(late.handler));
    registration.remove();
    await clock.advance(0);
    assert.deepEqual(late.take(), ['add a initial']);
    await stop();
  });

  it('TestSharedInformerInitializationRace: a handler added while the list runs is told of everything once', async () => {
    const { client, clock, informer, start, take } = setUp();
    client.put(aModel({ name: 'a', uid: 'a' }));
    client.put(aModel({ name: 'b', uid: 'b' }));
    const late = recorder();
    let added = 0;
    informer.addHandler({
      add: () => {
        added += 1;
        if (added === 1) informer.addHandler(late.handler);
      },
      update: () => undefined,
      delete: () => undefined,
    });
    const stop = start();
    await clock.advance(0);
    assert.deepEqual(take(), ['add a initial', 'add b initial']);
    assert.deepEqual(late.take(), ['add a initial', 'add b initial']);
    await stop();
  });

  it('TestRemoveWhileActive: a handler that is removed by another one hears nothing more', async () => {
    const { client, clock, informer, start } = setUp();
    const second = recorder();
    const remove = (): void => registration.remove();
    informer.addHandler({ add: remove, update: () => undefined, delete: () => undefined });
    const registration = informer.addHandler(second.handler);
    const stop = start();
    client.put(aModel({ name: 'a' }));
    await clock.advance(0);
    assert.deepEqual(second.take(), []);
    await stop();
  });

  it('TestRealFIFO_HasSyncedCorrectOnDeletion: a handler is synced though an object of the list is gone by then', async () => {
    const { client, clock, registration, start, take } = setUp();
    client.put(aModel({ name: 'a', uid: 'a', finalizers: [] }));
    for (let index = 0; index < 10; index += 1) client.put(aModel({ name: `b${index}`, uid: `b${index}` }));
    client.failures.push({ call: 'next-page', error: new KubeError('Unavailable', 'cut') });
    const stop = start();
    await clock.advance(0);
    assert.equal(registration.synced, false);
    client.remove('a-namespace/a');
    await clock.advance(60_000);
    assert.equal(registration.synced, true);
    const told = take().filter((line) => line.split(' ')[1] === 'a');
    assert.deepEqual(told, ['add a initial', 'delete a unknown']);
    await stop();
  });

  it('TestEventPanics: goes on, and tells the other handlers, when one throws', async () => {
    const { client, clock, logger, informer, start, take } = setUp();
    const broken = (): never => {
      throw new CodedError('BROKEN', 'broken handler');
    };
    informer.addHandler({ add: broken, update: broken, delete: broken });
    const stop = start();
    await clock.advance(0);
    client.put(aModel({ name: 'a' }));
    client.put(aModel({ name: 'a' }));
    await clock.advance(0);
    assert.deepEqual(take(), ['add a', 'update a']);
    assert.equal(logger.messages().filter((message) => message === 'An event handler failed').length, 2);
    await stop();
  });
});
