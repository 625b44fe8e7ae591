// Runs one change while something happens at one write of the controller, and looks at what is left: the same as where
// nothing happens.
import { isDeepStrictEqual } from 'node:util';
import type { IngesterStatus } from '../../../src/api/ingester/status.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { isKubeError } from '../../../src/kube/errors.ts';
import { ifFound } from '../../../src/kube/found.ts';
import { configMapRef } from '../../../src/kube/resources.ts';
import { childKinds, jobKind } from '../../../src/lifecycle/children/kinds.ts';
import { MigrationRecord } from '../../../src/lifecycle/reconcile/migration-record.ts';
import { LifecycleReconciler, statusOf } from '../../../src/lifecycle/reconcile/reconciler.ts';
import { Killed } from '../crash-matrix/faulty.ts';
import { FakeClock } from '../fake-clock.ts';
import { RecordingLogger } from '../recording-logger.ts';
import type { LifecycleFlow } from './flows.ts';
import { killable, type Write, type WriteBlow, WriteCounter, type WriteFault } from './killable.ts';
import { NAME, type World } from './world.ts';

/** A pass takes less than the shortest wait. */
const ROUND_MS = 5000;
/** More than any change needs; what is not at rest by then is wedged. */
const ROUNDS = 200;
const QUIET_ROUNDS = 2;

export interface Happening {
  readonly name: string;
  readonly blow: WriteBlow;
  /** Where the controller is started anew, the user has taken the change back meanwhile. */
  readonly takenBack: boolean;
}

export const happenings: readonly Happening[] = [
  { name: 'killed before it', blow: 'kill before', takenBack: false },
  { name: 'killed after it', blow: 'kill after', takenBack: false },
  { name: 'its answer is lost', blow: 'lose the answer', takenBack: false },
  { name: 'killed after it, and the change is taken back', blow: 'kill after', takenBack: true },
];

/** What a change did and left, without what differs from one time to the next. */
export interface Picture {
  readonly runs: readonly string[];
  readonly status: unknown;
  readonly children: unknown;
  readonly record: unknown;
}

/** One resource, with all that happens to it one after the other. */
export class Scene {
  readonly world: World;
  readonly flow: LifecycleFlow;
  readonly #clock = new FakeClock();
  #count = 0;
  /** What is there is as after a change that nothing happened to. */
  #isWarm = false;

  constructor(world: World, flow: LifecycleFlow) {
    this.world = world;
    this.flow = flow;
  }

  /** Brings it to where the next change begins. */
  async #prepare(): Promise<void> {
    this.#count += 1;
    this.world.failing = undefined;
    const before = this.flow.before?.(this.#count);
    if (before === undefined) return;
    await this.world.ask(before);
    await this.#settle(new WriteCounter(undefined));
  }

  /** Not the first change of a resource: later ones are like each other. */
  async #warmUp(): Promise<void> {
    await this.#prepare();
    if (this.#isWarm || this.flow.before === undefined) return;
    await this.#change(new WriteCounter(undefined));
    await this.#prepare();
    this.#isWarm = true;
  }

  /** Every write of the change where nothing happens, and what it leaves. */
  async record(): Promise<{ readonly writes: readonly Write[]; readonly picture: Picture }> {
    await this.#warmUp();
    const writes: Write[] = [];
    const picture = await this.#change(new WriteCounter(undefined, writes));
    return { writes, picture };
  }

  /** What is wrong after that happened at that write. */
  async cell(fault: WriteFault, { takenBack }: Happening, expected: Picture): Promise<readonly string[]> {
    await this.#warmUp();
    const counter = new WriteCounter(fault);
    const found = takenBack ? await this.#takeBack(counter) : differences(expected, await this.#change(counter));
    const missed = counter.struck ? [] : ['the controller ended without that write'];
    return [...missed, ...found, ...this.world.broken, ...(await this.world.problemsAtRest())];
  }

  async #change(counter: WriteCounter): Promise<Picture> {
    const { world, flow } = this;
    const started = this.#clock.now().toISOString();
    const begun = world.database.log.length;
    const known = statusOf((await ifFound(world.ingester())) ?? ({} as KubernetesObject));
    world.failing = flow.failing;
    await world.ask(flow.asked(this.#count));
    await this.#settle(counter);
    return this.#picture({ started, known, runs: world.database.log.slice(begun) });
  }

  /** Wherever it came to: it ends, and the change can be asked for again. */
  async #takeBack(counter: WriteCounter): Promise<readonly string[]> {
    const { world, flow } = this;
    const back = flow.before?.(this.#count);
    world.failing = flow.failing;
    await world.ask(flow.asked(this.#count));
    await this.#settle(counter, async () => {
      if (back !== undefined) await world.ask(back);
    });
    const halfway = (await world.problemsAtRest()).map((problem) => `taken back: ${problem}`);
    await world.ask(flow.asked(this.#count));
    await this.#settle(new WriteCounter(undefined));
    // The Job that failed may not be there any more, which the next change would replace.
    this.#isWarm = flow.failing === undefined;
    const { phase } = statusOf(await world.ingester());
    return [...halfway, ...(phase === flow.ends ? [] : [`asked for again it is ${phase}, not ${flow.ends}`])];
  }

  async #settle(counter: WriteCounter, onKill: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const { world } = this;
    let controller = this.#start(counter);
    let [seen, quiet] = ['', 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      try {
        await controller.reconcile(`${world.namespace}/${NAME}`, { signal: new AbortController().signal });
      } catch (error) {
        if (error instanceof Killed) {
          await onKill();
          controller = this.#start(counter);
        } else if (!isKubeError(error, 'Unavailable') && !isKubeError(error, 'Conflict')) throw error;
      }
      const now = await world.move(counter.deleted.splice(0));
      await this.#clock.advance(ROUND_MS);
      quiet = now === seen ? quiet + 1 : 0;
      seen = now;
      if (quiet >= QUIET_ROUNDS && (await this.#isOver())) return;
    }
    world.broken.add(`wedged: ${JSON.stringify(statusOf(await world.ingester()))}`);
  }

  async #isOver(): Promise<boolean> {
    const { lifecycle, target } = statusOf(await this.world.ingester());
    return target !== undefined && (lifecycle?.pipeline === 'Settled' || lifecycle?.pipeline === 'Failed');
  }

  #start(counter: WriteCounter): LifecycleReconciler {
    const client = killable(this.world.client, counter);
    return new LifecycleReconciler({
      client,
      clock: this.#clock,
      events: { record: () => undefined },
      metrics: { forResource: () => ({ read: () => undefined, gone: () => undefined }), ended: () => undefined },
      record: new MigrationRecord({ client, logger: new RecordingLogger() }),
      canary: { seen: () => undefined, gone: () => undefined },
      repository: () => Promise.resolve('michelangelo-ingester'),
    });
  }

  async #picture({ started, known, runs }: Since): Promise<Picture> {
    const { world, flow } = this;
    const status = statusOf(await world.ingester());
    const kinds = [...Object.values(childKinds), jobKind].filter(({ optional }) => !optional);
    const lists = await Promise.all(kinds.map(({ resource }) => world.list(resource)));
    // What is listed has no owners of fields.
    const refs = lists.flatMap((list, index) =>
      list.map(({ metadata }) => world.ref(kinds[index]?.resource ?? jobKind.resource, metadata.name)),
    );
    const children = await Promise.all(refs.map((ref) => world.client.get(ref)));
    const record = await world.client.get(configMapRef(world.namespace, 'ingester-admission-record'));
    const replaced = (value: unknown): unknown => plain(value, flow, this.#count);
    return {
      runs,
      status: replaced(since(status, known, started)),
      children: replaced(children.sort((left, right) => keyOf(left).localeCompare(keyOf(right)))),
      record: replaced(record['data']),
    };
  }
}

interface Since {
  readonly started: string;
  readonly known: IngesterStatus;
  readonly runs: readonly string[];
}

function keyOf({ kind, metadata }: KubernetesObject): string {
  return `${kind}/${metadata.name}`;
}

/** The part of the status that came with this change. */
function since(status: IngesterStatus, { lifecycle: was }: IngesterStatus, started: string): object {
  const { lifecycle, transitions = [] } = status;
  const isNew =
    (known: readonly string[] = []) =>
    (each: string): boolean =>
      !known.includes(each);
  return {
    ...status,
    transitions: transitions.filter(({ time }) => time >= started).map(({ from, to }) => [from, to]),
    lifecycle: lifecycle && {
      ...lifecycle,
      runs: lifecycle.runs - (was?.runs ?? 0),
      snapshots: lifecycle.snapshots.filter(isNew(was?.snapshots)),
      restores: lifecycle.restores?.filter(isNew(was?.restores)),
    },
  };
}

const TIMES: ReadonlySet<string> = new Set([
  ...['resourceVersion', 'uid', 'creationTimestamp', 'generation', 'observedGeneration', 'time', 'namespace'],
  ...['clusterIP', 'clusterIPs'],
]);

/** Names, numbers and hashes that differ from one time to the next, made the same. */
function plain(value: unknown, { asked, before }: LifecycleFlow, count: number): unknown {
  const [to, from] = [asked(count), before?.(count)];
  const names: readonly (readonly [string | undefined, string])[] = [
    [to.version, 'ASKED'],
    [from?.version, 'BEFORE'],
    [to.lifecycle?.restore?.nonce, 'NONCE'],
    [from?.lifecycle?.restore?.nonce, 'NONCE BEFORE'],
    [to.database.rotation?.credentialsSecret, 'NEXT SECRET'],
    [to.database.credentialsSecret, 'SECRET'],
  ];
  const text = JSON.stringify(value, (key, each: unknown) => (TIMES.has(key) ? undefined : each));
  const named = names.reduce((all, [name, as]) => (name === undefined ? all : all.replaceAll(name, as)), text);
  return JSON.parse(
    named
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
      .replaceAll(/\b[0-9a-f]{12,64}\b/g, 'HASH')
      .replaceAll(/\b(quiesce|snapshot|clone|restore|migrate|release|rotate|init|finish|backup|s)-\d+/g, '$1-N')
      .replaceAll(/UID-\d+/g, 'RUN')
      .replaceAll(/"\d+-\d+(-back)?"/g, '"N-N$1"')
      .replaceAll(/lifecycle\/[a-z0-9-]+\//g, 'lifecycle/NAMESPACE/')
      .replaceAll(/migrated\.[a-z0-9-]+\./g, 'migrated.NAMESPACE.')
      .replaceAll(/\bscene-\d+/g, 'NAMESPACE')
      .replaceAll(/generation \d+/g, 'generation N'),
  );
}

function differences(expected: Picture, found: Picture): readonly string[] {
  return (['runs', 'status', 'children', 'record'] as const).flatMap((part) =>
    isDeepStrictEqual(expected[part], found[part]) ? [] : [`${part}: ${firstDifference(expected[part], found[part])}`],
  );
}

/** Path and both values. */
function firstDifference(left: unknown, right: unknown, path = ''): string {
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return `${path}: ${JSON.stringify(right)}, not ${JSON.stringify(left)}`;
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  const at = (of: object, key: string): unknown => (of as Readonly<Record<string, unknown>>)[key];
  const differing = keys.find((key) => !isDeepStrictEqual(at(left, key), at(right, key))) ?? '';
  return firstDifference(at(left, differing), at(right, differing), `${path}.${differing}`);
}
