// The scenarios of controller-runtime's manager tests, under their names.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CodedError } from '../../../src/base/errors.ts';
import type { RunnablesFailedError } from '../../../src/runtime/errors.ts';
import { type Election, Manager, type ManagerOptions } from '../../../src/runtime/manager.ts';
import type { Runnable } from '../../../src/runtime/runnable-group.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { ContextLogger } from './context-logger.ts';

const broken = new CodedError('BROKEN', 'broken');

/** Writes down what starts and ends, in order. */
class Diary {
  readonly lines: string[] = [];

  /** Runs until stopped; then takes as long as `ends` does. */
  runnable(name: string, group?: Runnable['group'], ends: () => Promise<void> = () => Promise.resolve()): Runnable {
    return {
      name,
      ...(group === undefined ? {} : { group }),
      run: async (signal) => {
        this.lines.push(`+${name}`);
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve());
          if (signal.aborted) resolve();
        });
        this.lines.push(`~${name}`);
        await ends();
        this.lines.push(`-${name}`);
      },
    };
  }

  take(): readonly string[] {
    return this.lines.splice(0);
  }
}

/** Leads when told, loses when told. */
class FakeElection implements Election {
  readonly #outcome = Promise.withResolvers<'lost' | 'stopped'>();
  readonly #diary: Diary;
  #onLeading: () => void = () => undefined;
  abandoned = false;

  constructor(diary: Diary) {
    this.#diary = diary;
  }

  run(signal: AbortSignal, onLeading: () => void): Promise<'lost' | 'stopped'> {
    this.#diary.lines.push('+election');
    this.#onLeading = onLeading;
    signal.addEventListener('abort', () => {
      this.#diary.lines.push('-election');
      this.#outcome.resolve('stopped');
    });
    return this.#outcome.promise;
  }

  abandon(): void {
    this.abandoned = true;
    this.#outcome.resolve('stopped');
  }

  win(): void {
    this.#onLeading();
  }

  lose(): void {
    this.#outcome.resolve('lost');
  }
}

function setUp(options: Partial<ManagerOptions> = {}) {
  const clock = new FakeClock();
  const diary = new Diary();
  const election = new FakeElection(diary);
  const logger = new ContextLogger();
  const manager = new Manager({ clock, logger, ...options });
  const led = new Manager({ clock, logger, election, ...options });
  const stop = new AbortController();
  return { clock, diary, election, logger, manager, led, stop };
}

describe('Manager', () => {
  it('should start the cache before starting anything else: servers, webhooks, caches, others, warm-up, leader', async () => {
    const { diary, election, led, stop } = setUp();
    const synced = Promise.withResolvers<undefined>();
    const warmup = (): Promise<void> => (diary.lines.push('warm'), Promise.resolve());
    led.add({ ...diary.runnable('leading'), warmup });
    led.add(diary.runnable('other', 'always'));
    led.add({ ...diary.runnable('cache', 'cache'), waitUntilReady: () => synced.promise.then(() => undefined) });
    led.add(diary.runnable('webhook', 'webhook'));
    led.add(diary.runnable('server', 'server'));
    const finished = led.run(stop.signal);
    await settle();
    assert.deepEqual(diary.take(), ['+server', '+webhook', '+cache']);
    synced.resolve(undefined);
    await settle();
    assert.deepEqual(diary.take(), ['+other', 'warm', '+election']);
    election.win();
    await settle();
    assert.deepEqual(diary.take(), ['+leading']);
    stop.abort();
    await finished;
    assert.deepEqual(
      diary.take().filter((line) => line.startsWith('-')),
      ['-other', '-leading', '-cache', '-webhook', '-server', '-election'],
    );
  });

  it('should stop a group only after the one before has ended', async () => {
    const { diary, manager, stop } = setUp();
    const release = Promise.withResolvers<undefined>();
    manager.add(diary.runnable('other', 'always', () => release.promise.then(() => undefined)));
    manager.add(diary.runnable('server', 'server'));
    const finished = manager.run(stop.signal);
    await settle();
    diary.take();
    stop.abort();
    await settle();
    assert.deepEqual(diary.take(), ['~other']);
    release.resolve(undefined);
    await finished;
    assert.deepEqual(diary.take(), ['-other', '~server', '-server']);
  });

  it('should only cancel the leader election after all runnables are done', async () => {
    const { diary, election, led, stop } = setUp();
    const release = Promise.withResolvers<undefined>();
    led.add(diary.runnable('leading', 'leader', () => release.promise.then(() => undefined)));
    const finished = led.run(stop.signal);
    await settle();
    election.win();
    await settle();
    stop.abort();
    await settle();
    assert.ok(!diary.take().includes('-election'));
    release.resolve(undefined);
    await finished;
    assert.deepEqual(diary.take(), ['-leading', '-election']);
  });

  it('should disable gracefulShutdown when stopping to lead: it ends at once with an error', async () => {
    const { clock, diary, election, led, stop } = setUp();
    led.add(diary.runnable('leading', 'leader', () => new Promise(() => undefined)));
    const finished = led.run(stop.signal);
    await settle();
    election.win();
    await settle();
    election.lose();
    await assert.rejects(finished, { code: 'LEADER_ELECTION_LOST' });
    assert.ok(diary.take().includes('~leading'), 'it is told to stop all the same');
    assert.equal(clock.pending, 0);
  });

  it('should prevent leader election when shutting down a non-elected manager', async () => {
    const { diary, election, led, stop } = setUp();
    const release = Promise.withResolvers<undefined>();
    led.add(diary.runnable('leading', 'leader'));
    led.add(diary.runnable('other', 'always', () => release.promise.then(() => undefined)));
    const finished = led.run(stop.signal);
    await settle();
    stop.abort();
    await settle();
    assert.ok(diary.take().includes('-election'), 'a candidate does not wait to stop competing');
    election.win();
    release.resolve(undefined);
    await finished;
    assert.ok(!diary.take().includes('+leading'));
  });

  it('leads from the start without an election', async () => {
    const { diary, manager, stop } = setUp();
    manager.add(diary.runnable('leading'));
    const finished = manager.run(stop.signal);
    await settle();
    assert.deepEqual(diary.take(), ['+leading']);
    stop.abort();
    await finished;
  });

  it('should run warmup runnables before leader election is won', async () => {
    const { diary, led, stop } = setUp();
    const warm = Promise.withResolvers<undefined>();
    led.add({
      ...diary.runnable('leading'),
      warmup: () => (diary.lines.push('warm'), warm.promise.then(() => undefined)),
    });
    const finished = led.run(stop.signal);
    await settle();
    assert.deepEqual(diary.take(), ['warm'], 'and the election waits for them');
    warm.resolve(undefined);
    await settle();
    assert.deepEqual(diary.take(), ['+election']);
    stop.abort();
    await finished;
  });

  it('ends when a runnable fails, stops the others and throws its error', async () => {
    const { diary, manager, stop } = setUp();
    manager.add(diary.runnable('good', 'always'));
    manager.add({ name: 'bad', group: 'always', run: () => Promise.reject(broken) });
    await assert.rejects(manager.run(stop.signal), broken);
    assert.ok(diary.take().includes('-good'));
  });

  it('ends when a warm-up fails', async () => {
    const { diary, manager, stop } = setUp();
    manager.add({ ...diary.runnable('leading'), warmup: () => Promise.reject(broken) });
    await assert.rejects(manager.run(stop.signal), broken);
  });

  it('ends when something does not get ready', async () => {
    const { diary, manager, stop } = setUp();
    manager.add({ ...diary.runnable('cache', 'cache'), waitUntilReady: () => Promise.reject(broken) });
    await assert.rejects(manager.run(stop.signal), broken);
    assert.deepEqual(diary.take(), ['+cache', '~cache', '-cache']);
  });

  it('goes on when a runnable returns early', async () => {
    const { diary, manager, stop } = setUp();
    manager.add({ name: 'once', group: 'always', run: () => Promise.resolve() });
    manager.add(diary.runnable('other', 'always'));
    const finished = manager.run(stop.signal);
    await settle();
    assert.deepEqual(diary.take(), ['+other']);
    stop.abort();
    await finished;
  });

  it('should return both runnables and stop errors', async () => {
    const { diary, manager, stop } = setUp();
    manager.add({ name: 'bad', group: 'always', run: () => Promise.reject(broken) });
    manager.add(diary.runnable('worse', 'always', () => Promise.reject(new CodedError('WORSE', 'worse'))));
    await assert.rejects(manager.run(stop.signal), (error: RunnablesFailedError) => {
      assert.equal(error.message, 'broken; worse');
      return error.errors.length === 2;
    });
  });

  it('does not report that a stop broke something off', async () => {
    const { manager, stop } = setUp();
    manager.add({
      name: 'broken off',
      group: 'always',
      run: (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    });
    const finished = manager.run(stop.signal);
    await settle();
    stop.abort();
    await finished;
  });

  it('cannot be started twice', async () => {
    const { manager, stop } = setUp();
    stop.abort();
    await manager.run(stop.signal);
    await assert.rejects(manager.run(stop.signal), { code: 'ALREADY_STARTED' });
  });
});

describe('Manager, stopping', () => {
  const never = (): Promise<void> => new Promise(() => undefined);

  it('should wait for runnables to stop, up to one deadline for all', async () => {
    const { clock, diary, manager, stop, logger } = setUp({ gracefulShutdownTimeoutMs: 1000 });
    manager.add(diary.runnable('stuck', 'always', never));
    manager.add(diary.runnable('server', 'server'));
    const finished = manager.run(stop.signal);
    await settle();
    stop.abort();
    await clock.advance(999);
    assert.ok(!diary.take().includes('~server'));
    const failed = assert.rejects(finished, { code: 'SHUTDOWN_TIMEOUT', message: /ms after the stop: server, stuck$/ });
    await clock.advance(1);
    await failed;
    assert.deepEqual(diary.take(), ['~server', '-server'], 'who was not told yet is told then');
    assert.deepEqual(logger.shown(), [['error', 'The stop took too long']]);
    assert.equal(clock.pending, 0);
  });

  it('keeps the lease when the deadline passes, because something may still be working', async () => {
    const { clock, diary, election, led, stop } = setUp({ gracefulShutdownTimeoutMs: 1000 });
    led.add(diary.runnable('stuck', 'leader', never));
    const finished = led.run(stop.signal);
    await settle();
    election.win();
    await settle();
    stop.abort();
    const failed = assert.rejects(finished, { code: 'SHUTDOWN_TIMEOUT' });
    await clock.advance(1000);
    await failed;
    assert.ok(election.abandoned);
    assert.ok(!diary.take().includes('-election'));
  });

  it('should not wait if gracefulShutdownTimeout is 0', async () => {
    const { clock, diary, manager, stop } = setUp({ gracefulShutdownTimeoutMs: 0 });
    manager.add(diary.runnable('stuck', 'always', never));
    const finished = manager.run(stop.signal);
    await settle();
    stop.abort();
    await finished;
    assert.ok(diary.take().includes('~stuck'));
    assert.equal(clock.pending, 0);
  });

  it('should wait forever if gracefulShutdownTimeout is <0', async () => {
    const { clock, diary, manager, stop } = setUp({ gracefulShutdownTimeoutMs: -1 });
    const release = Promise.withResolvers<undefined>();
    manager.add(diary.runnable('slow', 'always', () => release.promise.then(() => undefined)));
    let ended = false;
    const finished = manager.run(stop.signal).then(() => (ended = true));
    await settle();
    stop.abort();
    await clock.advance(10_000_000);
    assert.equal(ended, false);
    release.resolve(undefined);
    await finished;
  });

  it('waits thirty seconds unless told otherwise', async () => {
    const { clock, diary, manager, stop } = setUp();
    manager.add(diary.runnable('stuck', 'always', never));
    const failed = assert.rejects(manager.run(stop.signal), { code: 'SHUTDOWN_TIMEOUT' });
    await settle();
    stop.abort();
    await clock.advance(29_999);
    assert.equal(clock.pending, 1);
    await clock.advance(1);
    await failed;
  });

  it('starts nothing more when it is stopped during the start', async () => {
    const { diary, manager, stop } = setUp();
    manager.add({ ...diary.runnable('cache', 'cache'), waitUntilReady: never });
    manager.add(diary.runnable('other', 'always'));
    const finished = manager.run(stop.signal);
    await settle();
    stop.abort();
    await finished;
    assert.deepEqual(diary.take(), ['+cache', '~cache', '-cache']);
  });
});

describe('runnableGroup', () => {
  it('should be able to add new runnables before it starts', async () => {
    const { diary, manager, stop } = setUp();
    manager.add(diary.runnable('before', 'always'));
    await settle();
    assert.deepEqual(diary.take(), []);
    const finished = manager.run(stop.signal);
    await settle();
    assert.deepEqual(diary.take(), ['+before']);
    stop.abort();
    await finished;
  });

  it('should be able to add new runnables after it starts: at once, or when this process leads', async () => {
    const { diary, election, led, stop } = setUp();
    const finished = led.run(stop.signal);
    await settle();
    diary.take();
    led.add(diary.runnable('other', 'always'));
    led.add(diary.runnable('leading'));
    assert.deepEqual(diary.take(), ['+other']);
    election.win();
    await settle();
    led.add(diary.runnable('late'));
    assert.deepEqual(diary.take(), ['+leading', '+late']);
    stop.abort();
    await finished;
  });

  it('should not be able to add new runnables while stopping', async () => {
    const { diary, manager, stop } = setUp();
    const finished = manager.run(stop.signal);
    stop.abort();
    await settle();
    assert.throws(() => manager.add(diary.runnable('late')), { code: 'MANAGER_STOPPING' });
    await finished;
  });
});
