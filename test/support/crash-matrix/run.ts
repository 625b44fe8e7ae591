// Runs one flow of the product while something happens at one of its steps, and looks at what is left.
//
// To add a flow: write a `FlowUnderTest` and add it to the list in flows.ts. `prepare` brings the world to the moment
// before the flow starts, with the administrator's hands. `process` builds a process the way the program does, over the
// two faulty ports, and gives its `work`: one attempt, such as one reconcile of the key. An attempt that throws is made
// again, one that asks for a delay is made again after it, and one that is done is made again if the object has changed
// meanwhile, as a watch would see to it. Steps are not declared: every call to a port is one. `expected` is how it ends
// where no other client interferes. The laws of history.ts are checked after every cell, so a flow declares none.
import process from 'node:process';
import type { KindDefinition } from '../../../src/api/kind.ts';
import { type KubernetesObject, needsFinalizer } from '../../../src/api/object.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { KubeClient, ObjectRef } from '../../../src/kube/client.ts';
import { ifFound } from '../../../src/kube/found.ts';
import type { ReconcileResult } from '../../../src/runtime/reconcile.ts';
import type { MetadataStorage } from '../../../src/storage/metadata-storage.ts';
import { confirmMissedDeletes, markMissedDeletes } from '../../../src/sync/startup/mark-missed-deletes.ts';
import { eventually } from '../eventually.ts';
import { type Blow, FaultyPorts, Killed, type Script, type Step, StepCounter } from './faulty.ts';
import { deletedUnasked, type Evidence, type FinalizerRemoval, violations } from './history.ts';

/** The world of one cell: nothing in it is shared with another. */
export interface Stage {
  readonly kind: KindDefinition;
  readonly ref: ObjectRef;
  /** As the administrator, without faults. */
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  /** Lets time pass, which the real world does by itself. `seen`: the version after which a change ends a long wait. */
  wait(milliseconds: number, seen?: string): Promise<void>;
  /** What the API server does on its own, such as admission and garbage collection, has come to rest. */
  rest(): Promise<void>;
  evidence(removal: FinalizerRemoval): Promise<Evidence>;
}

export interface Process {
  work(): Promise<ReconcileResult>;
}

export interface FlowUnderTest {
  readonly name: string;
  /** One sentence for the page of guarantees. */
  readonly about: string;
  readonly expected: Ending;
  /** `saved` unless given. */
  readonly removal?: FinalizerRemoval;
  prepare(stage: Stage): Promise<unknown>;
  /** One round of the sweep that runs beside every flow. */
  sweep(stage: Stage, client: KubeClient, read: Read): Promise<unknown>;
  /** `read` gives the object as the process sees it. */
  process(stage: Stage, ports: FaultyPorts, read: Read): Process;
}

export type Read = () => Promise<KubernetesObject | undefined>;

/** Where the object and the row of its first incarnation are in the end. */
export type Ending =
  | 'in etcd, row live'
  | 'in etcd, row evicting'
  | 'row deleted'
  | 'row evicted'
  | 'gone, row live'
  | 'no row'
  | 'wedged';

/** Something that happens before a step; what it returns happens to the step itself. */
export interface Disturbance {
  readonly name: string;
  /** Another client changes the object, so that the flow may rightly end otherwise. */
  readonly interferes: boolean;
  /** Steps of this kind only; all unless given. */
  readonly only?: 'MySQL' | 'API server';
  /** Also happens at the following steps, while the process makes this many attempts. */
  readonly lasts?: number;
  at(scene: Scene): Promise<Blow | undefined>;
  /** Reads of MySQL are answered by a server that is behind. */
  readonly readsStale?: true;
  /** The finalizer may be gone before the flow has come to it. */
  readonly takesFinalizerOff?: true;
  /** What an operator does about it, once the process has made some attempts or has come to rest. */
  readonly remedy?: (stage: Stage) => Promise<void>;
}

export interface Scene {
  readonly stage: Stage;
  readonly flow: FlowUnderTest;
  readonly step: Step;
  /** What the disturbed process read last. */
  readonly lastRead: KubernetesObject | undefined;
}

export interface Cell {
  readonly ending: Ending;
  readonly violations: readonly string[];
}

/** After so many attempts an operator comes. */
const UNTIL_REMEDY = 3;
/** More attempts than any flow needs; after so many it is called wedged. */
const ATTEMPTS = 60;

/** The steps of a flow that nothing happens to. */
export async function stepsOf(stage: Stage, flow: FlowUnderTest): Promise<readonly string[]> {
  await flow.prepare(stage);
  const run = new FlowRun(stage, flow, undefined);
  await run.settle();
  return run.counter.steps.map(({ label }) => label);
}

export async function runCell(stage: Stage, flow: FlowUnderTest, at: number, disturbance: Disturbance): Promise<Cell> {
  await flow.prepare(stage);
  const run = new FlowRun(stage, flow, { at, disturbance });
  await run.settle();
  // A process that missed something meanwhile finds it when it starts anew.
  await new FlowRun(stage, flow, undefined).settle();
  const removal = removalIn(flow, disturbance);
  if (removal !== 'uninstalled') await sweepAndSettle(stage, flow);
  await stage.rest();
  // A connection may fall silent for reasons that are another cell's.
  if (removal === 'by hand') await eventually(() => endMissedDeletes(stage));
  const evidence = await stage.evidence(removal);
  const ending = endingOf(evidence);
  const found = [...violations(evidence), ...deletedUnasked(evidence.lives, run.counter.deleted), ...run.complaints];
  const forbidden = run.counter.forbiddenCalls.map((call) => `deletes never wait for the webhook: ${call} was called`);
  found.push(...forbidden);
  if (!disturbance.interferes && ending !== flow.expected) found.push(`ended as "${ending}", not "${flow.expected}"`);
  return { ending, violations: found };
}

function removalIn(flow: FlowUnderTest, { takesFinalizerOff }: Disturbance): FinalizerRemoval {
  if (flow.removal === 'uninstalled') return flow.removal;
  return takesFinalizerOff === true ? 'by hand' : (flow.removal ?? 'saved');
}

/** As the watch, the next start and the audit do it: nothing but the missing object tells that it left. */
async function endMissedDeletes({ kind, ref, client, storage }: Stage): Promise<void> {
  const kinds = [{ kind, resource: ref.resource }];
  const context = { kind, resource: ref.resource, kinds, client, storage, clock: systemClock };
  const rows = await storage.incarnations(kind, ref.namespace, ref.name, 10);
  await markMissedDeletes(context, await confirmMissedDeletes(context, rows), 'missing');
}

/** In the program the sweep runs beside every flow. */
async function sweepAndSettle(stage: Stage, flow: FlowUnderTest): Promise<void> {
  let found: KubernetesObject | undefined;
  await flow.sweep(stage, stage.client, async () => (found = await ifFound(stage.client.get(stage.ref))));
  if (found !== undefined && needsFinalizer(found)) await new FlowRun(stage, flow, undefined).settle();
}

/** Processes that work on an object at once where more than one does: CRASH_MATRIX_REPLICAS, two unless given. */
const REPLICAS = Number(process.env['CRASH_MATRIX_REPLICAS'] ?? 2);

/** Another process, or more of them at once, does everything there is to do, from what it sees or from a stale copy. */
export async function runTwin({ stage, flow }: Pick<Scene, 'stage' | 'flow'>, stale?: KubernetesObject): Promise<void> {
  const twins = Array.from({ length: REPLICAS - 1 }, () => new FlowRun(stage, flow, undefined, stale));
  await Promise.all(twins.map((twin) => twin.settle()));
}

interface Fault {
  readonly at: number;
  readonly disturbance: Disturbance;
}

class FlowRun {
  readonly counter = new StepCounter();
  readonly complaints: string[] = [];
  readonly #stage: Stage;
  readonly #flow: FlowUnderTest;
  readonly #fault: Fault | undefined;
  #stale: KubernetesObject | undefined;
  #lastRead: KubernetesObject | undefined;
  #attempt = 0;
  /** The attempt in which the disturbance began. */
  #disturbedIn: number | undefined;
  #remedied = false;
  #ports: FaultyPorts;
  #process: Process;

  constructor(stage: Stage, flow: FlowUnderTest, fault: Fault | undefined, stale?: KubernetesObject) {
    this.#stage = stage;
    this.#flow = flow;
    this.#fault = fault;
    this.#stale = stale;
    this.#ports = this.#newPorts();
    this.#process = flow.process(stage, this.#ports, () => this.#read());
  }

  async settle(): Promise<void> {
    for (this.#attempt = 1; this.#attempt <= ATTEMPTS; this.#attempt += 1) {
      const delayMs = await this.#try();
      const remedied = await this.#remedy(delayMs);
      if (delayMs === undefined && !remedied) return;
      await this.#stage.wait(delayMs ?? 0, this.#lastRead?.metadata.resourceVersion);
    }
    this.complaints.push('no wedge: the flow never came to rest');
  }

  /** Whether an operator did something just now. */
  async #remedy(delayMs: number | undefined): Promise<boolean> {
    const remedy = this.#fault?.disturbance.remedy;
    if (remedy === undefined || this.#remedied || this.#disturbedIn === undefined) return false;
    if (delayMs !== undefined && this.#attempt < this.#disturbedIn + UNTIL_REMEDY) return false;
    this.#remedied = true;
    await remedy(this.#stage);
    return true;
  }

  /** Milliseconds until the next attempt, or undefined when there is nothing left to do. */
  async #try(): Promise<number | undefined> {
    this.#ports.hasFailed();
    try {
      const result = await this.#process.work();
      if (this.#ports.hasFailed() && result.kind === 'done' && this.#flow.removal !== 'unsaved')
        this.complaints.push('an outage is an error: a call failed and the attempt counted as done');
      if (result.kind === 'requeue-after') return result.delayMs;
      const now = await this.#current();
      return now?.metadata.resourceVersion === this.#lastRead?.metadata.resourceVersion ? undefined : 0;
    } catch (error) {
      if (error instanceof Killed) this.#restart();
      return 1000;
    }
  }

  #restart(): void {
    this.#ports = this.#newPorts();
    this.#process = this.#flow.process(this.#stage, this.#ports, () => this.#read());
  }

  #newPorts(): FaultyPorts {
    const staleReads = this.#fault?.disturbance.readsStale === true;
    const script: Script = { before: (step) => this.#before(step), staleReads };
    return new FaultyPorts({ client: this.#stage.client, storage: this.#stage.storage, counter: this.counter, script });
  }

  async #before(step: Step): Promise<Blow | undefined> {
    if (this.#fault === undefined || !this.#isDue(step, this.#fault)) return undefined;
    this.#disturbedIn ??= this.#attempt;
    const { disturbance } = this.#fault;
    return disturbance.at({ stage: this.#stage, flow: this.#flow, step, lastRead: this.#lastRead });
  }

  #isDue(step: Step, { at, disturbance }: Fault): boolean {
    if (step.index === at) return true;
    if (this.#disturbedIn === undefined || disturbance.lasts === undefined) return false;
    const concerns = disturbance.only === undefined || step.label.startsWith(disturbance.only);
    return concerns && this.#attempt < this.#disturbedIn + disturbance.lasts;
  }

  async #read(): Promise<KubernetesObject | undefined> {
    const stale = this.#stale;
    this.#stale = undefined;
    this.#lastRead = stale ?? (await ifFound(this.#ports.client.get(this.#stage.ref)));
    return this.#lastRead;
  }

  #current(): Promise<KubernetesObject | undefined> {
    return ifFound(this.#stage.client.get(this.#stage.ref));
  }
}

function endingOf({ lives, rows, removal }: Evidence): Ending {
  const [first] = lives;
  const state = first === undefined ? undefined : rows.get(first.uid)?.state;
  if (first?.gone === false) {
    if (state === 'live') return 'in etcd, row live';
    return state === 'evicting' ? 'in etcd, row evicting' : 'wedged';
  }
  if (state === undefined) return 'no row';
  if (removal === 'uninstalled' && state === 'live') return 'gone, row live';
  return state === 'deleted' || state === 'evicted' ? `row ${state}` : 'wedged';
}
