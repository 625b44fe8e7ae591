// Several replicas over one API server in memory. Each has a way to it and a clock of its own, so that each can be late, cut
// off, frozen or killed.
import assert from 'node:assert/strict';
import { untilAborted } from '../../src/base/abort.ts';
import { type Clock, sleep } from '../../src/base/clock.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { LeaderElector } from '../../src/runtime/leader-elector.ts';
import { Manager } from '../../src/runtime/manager.ts';
import { allBuckets } from '../../src/runtime/replicas/buckets.ts';
import { ONE_OF_MANY } from '../../src/runtime/replicas/lease-names.ts';
import { Replica, type ReplicaOptions, type Term } from '../../src/runtime/replicas/replica.ts';
import { ContextLogger } from '../unit/runtime/context-logger.ts';
import { FakeClock, settle } from './fake-clock.ts';
import { FakeKubeClient } from './fake-kube-client.ts';

/** `late`: the server does what is asked for seconds later; `deaf`: at once, and the answer comes seconds later. */
export type Line = 'good' | 'late' | 'deaf' | 'cut';

const LATE_MS = 4000;
const LEADER_LEASE = { namespace: 'system', name: 'ingester-reconciler' };

/** The clock of a process that can be frozen: what falls due meanwhile happens when it goes on. */
class ProcessClock implements Clock {
  readonly #clock: FakeClock;
  #frozen = false;
  #waiting: (() => void)[] = [];

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): Date {
    return this.#clock.now();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  schedule(delayMs: number, action: () => void): () => void {
    let cancelled = false;
    const act = (): void => {
      if (!cancelled) action();
    };
    const cancel = this.#clock.schedule(delayMs, () => this.run(act));
    return () => {
      cancelled = true;
      cancel();
    };
  }

  /** Now, or when the process goes on. */
  run(action: () => void): void {
    if (this.#frozen) this.#waiting.push(action);
    else action();
  }

  freeze(): void {
    this.#frozen = true;
  }

  goOn(): void {
    this.#frozen = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const action of waiting) this.run(action);
  }

  get frozen(): boolean {
    return this.#frozen;
  }
}

export class SimulatedReplica {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly replica: Replica;
  readonly leader: LeaderElector;
  readonly #world: ReplicaWorld;
  readonly #stop = new AbortController();
  line: Line = 'good';
  state: 'running' | 'killed' | 'ended' = 'running';
  failure: unknown;
  /** From the begin of a term until nothing of it works any more. */
  serving: Term | undefined;
  terms = 0;
  stopMs = 0;
  canStore = true;
  /** Whether the API server refuses it to write this lease. */
  refused: (lease: string) => boolean = () => false;
  /** The next term fails when it ends: something of it may still work. */
  breaks = false;

  constructor(world: ReplicaWorld, name: string) {
    this.name = name;
    this.#world = world;
    this.clock = new ProcessClock(world.clock);
    const client = this.#client();
    const [logger, random] = [new ContextLogger(), (): number => 0.5];
    this.leader = new LeaderElector({
      ...{ client, lease: LEADER_LEASE, identity: `${ONE_OF_MANY}${name}`, clock: this.clock, logger, random },
      successor: () => this.replica.successor(),
    });
    this.replica = new Replica({
      client,
      namespace: LEADER_LEASE.namespace,
      leaderLease: LEADER_LEASE.name,
      process: name,
      clock: this.clock,
      logger,
      random,
      canStore: () => this.canStore,
      serve: (term, signal) => this.#serve(term, signal),
    });
    const manager = new Manager({ clock: this.clock, logger, election: this.replica.electing(this.leader) });
    manager.add({ name: 'replica', group: 'always', run: (stop) => this.replica.run(stop) });
    void manager
      .run(this.#stop.signal)
      .then(() => this.leader.leave())
      .then(
        () => this.#end(undefined),
        (error: unknown) => this.#end(error),
      );
  }

  stop(): void {
    this.#stop.abort();
  }

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  kill(): void {
    this.state = 'killed';
    this.clock.freeze();
  }

  get problem(): string | undefined {
    return this.replica.problem;
  }

  get alive(): boolean {
    return this.state === 'running';
  }

  #end(error: unknown): void {
    if (this.state === 'running') this.state = 'ended';
    this.failure = error;
    this.serving = undefined;
  }

  async #serve(term: Term, signal: AbortSignal): Promise<void> {
    this.serving = term;
    this.terms += 1;
    this.#world.check();
    await untilAborted(signal);
    await sleep(this.clock, this.stopMs, new AbortController().signal);
    if (this.breaks) throw new KubeError('Unavailable', 'the term does not end');
    this.serving = undefined;
  }

  #client(): ReplicaOptions['client'] {
    const { server } = this.#world;
    return {
      get: (...args) => this.#send(() => server.get(...args)),
      create: (...args) => this.#send(() => server.create(...args)),
      update: (ref, lease) =>
        this.#send(() => {
          if (this.refused(ref.name)) throw new KubeError('Forbidden', 'no right');
          return server.update(ref, lease);
        }),
      list: (resource, options) => this.#send(() => server.list(resource, options)),
      newest: (resource, selection) => this.#send(() => server.newest(resource, selection)),
      watch: (resource, options, signal) => this.#watch(server.watch(resource, options, signal)),
    };
  }

  async #send<T>(call: () => Promise<T>): Promise<T> {
    const { line } = this;
    if (line === 'cut') throw new KubeError('Unavailable', 'connection refused');
    if (line === 'late') await this.#world.pass(LATE_MS);
    const answer = call();
    answer.catch(() => undefined);
    if (line === 'deaf') await this.#world.pass(LATE_MS);
    return await this.#arrive(answer);
  }

  /** What comes for a frozen process waits. */
  async #arrive<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } finally {
      await new Promise<void>((resolve) => this.clock.run(resolve));
    }
  }

  async *#watch<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const event of events) {
      await new Promise<void>((resolve) => this.clock.run(resolve));
      if (this.line === 'cut') throw new KubeError('Unavailable', 'connection lost');
      if (this.line !== 'good') await this.#world.pass(LATE_MS);
      yield event;
    }
  }
}

/** A process with `active: one`, of this version or of an earlier one: the lease of the leader is all that it knows of others. */
export class SimulatedAlone {
  readonly name: string;
  readonly #stop = new AbortController();
  readonly #clock: ProcessClock;
  working = false;

  constructor({ clock: time, server }: ReplicaWorld, name: string, random: () => number) {
    this.name = name;
    const clock = new ProcessClock(time);
    this.#clock = clock;
    const identity = `host_${name}`;
    const election = new LeaderElector({
      ...{ client: server, lease: LEADER_LEASE, identity, clock, logger: new ContextLogger(), random },
    });
    const manager = new Manager({ clock, logger: new ContextLogger(), election });
    manager.add({
      name: 'work',
      run: async (stop) => {
        this.working = true;
        await untilAborted(stop);
        this.working = false;
      },
    });
    void manager.run(this.#stop.signal);
  }

  stop(): void {
    this.#stop.abort();
  }

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  kill(): void {
    this.working = false;
    this.#clock.freeze();
  }
}

export class ReplicaWorld {
  readonly clock = new FakeClock();
  readonly server = new FakeKubeClient();
  readonly replicas: SimulatedReplica[] = [];
  readonly alone: SimulatedAlone[] = [];
  readonly #problems: string[] = [];

  start(name = `p${this.replicas.length}`): SimulatedReplica {
    const replica = new SimulatedReplica(this, name);
    this.replicas.push(replica);
    return replica;
  }

  startAlone(random: () => number = () => 0.5): SimulatedAlone {
    const one = new SimulatedAlone(this, `a${this.alone.length}`, random);
    this.alone.push(one);
    return one;
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.schedule(ms, resolve));
  }

  /** Looks at every step whether a bucket has two owners. */
  async advance(ms: number, stepMs = 100): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      await this.clock.advance(Math.min(stepMs, ms - passed));
      this.check();
    }
  }

  check(): void {
    for (const bucket of allBuckets) {
      const leading = this.leading(bucket);
      if (leading.length > 1) this.#problems.push(`bucket ${bucket} is led by ${leading.join(' and ')}`);
      const serving = this.#living.filter((each) => each.serving?.buckets.has(bucket) && each.replica.holdsSlot);
      const all = [...serving, ...this.alone.filter(({ working }) => working)];
      if (all.length > 1)
        this.#problems.push(`bucket ${bucket} is worked on by ${all.map(({ name }) => name).join(' and ')}`);
    }
  }

  /** A frozen process counts: it may go on at any moment. */
  leading(bucket: number): readonly string[] {
    return this.#living.filter(({ replica }) => replica.leads(bucket)).map(({ name }) => name);
  }

  get unowned(): readonly number[] {
    if (this.alone.some(({ working }) => working)) return [];
    return allBuckets.filter((bucket) => this.leading(bucket).length === 0);
  }

  assertSound(): void {
    assert.deepEqual([...new Set(this.#problems)], []);
  }

  async untilOwned(limitMs: number): Promise<number> {
    const startedMs = this.clock.monotonicMs();
    while (this.unowned.length > 0) {
      if (this.clock.monotonicMs() - startedMs >= limitMs)
        assert.fail(`after ${limitMs} ms buckets have no owner: ${this.unowned.join(' ')}`);
      await this.advance(100);
    }
    return this.clock.monotonicMs() - startedMs;
  }

  /** Lets everything end. */
  async end(): Promise<void> {
    for (const each of this.replicas) {
      each.line = 'good';
      if (each.state === 'running') each.stop();
      each.clock.goOn();
    }
    for (const each of this.alone) each.stop();
    await this.clock.advance(20_000);
    await settle();
  }

  get #living(): readonly SimulatedReplica[] {
    return this.replicas.filter(({ alive }) => alive);
  }
}
