// Wraps the two ports of a process so that every call is a named step at which something can happen to it.
import { CodedError } from '../../../src/base/errors.ts';
import type {
  DeleteOptions,
  JsonPatch,
  KubeClient,
  ObjectRef,
  Resource,
  WriteOptions,
} from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { GateClosedError, RowRefusedError, StorageUnavailableError } from '../../../src/storage/errors.ts';
import type { MetadataStorage } from '../../../src/storage/metadata-storage.ts';

/** Thrown out of a process that was killed; everything it calls afterwards throws it too. */
export class Killed extends CodedError {
  constructor() {
    super('TEST_KILLED', 'the process was killed here');
  }
}

/**
 * What happens to one call. `comes late`: the caller's deadline has passed, and the server carries the call out all the
 * same, after the next call. `is refused`: a write, by a policy or by the database; reads pass.
 */
export type Blow =
  | 'kill before'
  | 'kill after'
  | 'fail'
  | 'lose the answer'
  | 'gate closed'
  | 'comes late'
  | 'is refused';

export interface Step {
  /** Counted over the whole flow, restarts and repeats included. */
  readonly index: number;
  readonly label: string;
}

export interface Script {
  /** Runs before the call; the call goes on as the returned blow says. */
  readonly before: (step: Step) => Promise<Blow | undefined>;
}

/** Calls made so far, over all processes of one run. */
export class StepCounter {
  readonly steps: Step[] = [];
  /** Full replacements and creates; removing a finalizer must need none. */
  readonly forbiddenCalls: string[] = [];
  /** uids of the objects whose deletion was asked for, and granted. */
  readonly deleted: (string | undefined)[] = [];

  next(label: string): Step {
    const step = { index: this.steps.length, label };
    this.steps.push(step);
    return step;
  }
}

/** One process: it may be dead, and then it does nothing any more. */
export class FaultyPorts {
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly #counter: StepCounter;
  readonly #script: Script;
  #dead = false;
  #failed = false;
  /** What servers still carry out although no caller waits for it any more. */
  #late: (() => Promise<unknown>)[] = [];

  constructor(parts: {
    readonly client: KubeClient;
    readonly storage: MetadataStorage;
    readonly counter: StepCounter;
    readonly script: Script;
  }) {
    this.#counter = parts.counter;
    this.#script = parts.script;
    this.client = wrap(parts.client, (method, args, run) => this.#api(method, args, run));
    this.storage = wrap(parts.storage, (method, _args, run) => this.#mysql(method, run));
  }

  /** A step that is a call to neither port, such as a write to disk. */
  other<T>(label: string, run: () => Promise<T>): Promise<T> {
    return this.#step(label, run, {
      lost: () => new StorageUnavailableError('scripted', undefined),
      refused: undefined,
    });
  }

  /** Whether a call has failed since this was last asked. */
  hasFailed(): boolean {
    const failed = this.#failed;
    this.#failed = false;
    return failed;
  }

  #api(method: string, args: readonly unknown[], run: () => Promise<unknown>): Promise<unknown> {
    if (method === 'update' || method === 'apply') this.#counter.forbiddenCalls.push(method);
    const lost = (): CodedError => new KubeError('Unavailable', 'scripted');
    const denied = (): CodedError => new KubeError('Invalid', 'denied by a policy');
    const noted = async (): Promise<unknown> => {
      const answer = await run();
      if (method === 'delete') this.#counter.deleted.push((args[1] as DeleteOptions).uid);
      return answer;
    };
    const refused = reads.has(method) ? undefined : denied;
    return this.#step(`API server: ${nameOfCall(method, args)}`, noted, { lost, refused });
  }

  #mysql(method: string, run: () => Promise<unknown>): Promise<unknown> {
    const lost = (): CodedError => new StorageUnavailableError('scripted', undefined);
    const refused = reads.has(method) ? undefined : (): CodedError => new RowRefusedError('scripted');
    return this.#step(`MySQL: ${method}`, run, { lost, refused });
  }

  async #step<T>(label: string, run: () => Promise<T>, { lost, refused }: Errors): Promise<T> {
    this.#refuseDead();
    const late = this.#late.splice(0);
    const blow = await this.#script.before(this.#counter.next(label));
    this.#refuseDead();
    try {
      return await this.#carryOut(blow, run, { lost, refused });
    } finally {
      // Its answer reaches no caller.
      for (const call of late) await call().catch(() => undefined);
    }
  }

  async #carryOut<T>(blow: Blow | undefined, run: () => Promise<T>, { lost, refused }: Errors): Promise<T> {
    switch (blow) {
      case undefined:
        return run();
      case 'kill before':
        return this.#die();
      case 'kill after':
        await run();
        return this.#die();
      case 'gate closed':
        this.#failed = true;
        throw new GateClosedError('scripted');
      case 'fail':
        this.#failed = true;
        throw lost();
      case 'comes late':
        this.#late.push(run);
        this.#failed = true;
        throw lost();
      case 'is refused':
        if (refused === undefined) return run();
        this.#failed = true;
        throw refused();
      case 'lose the answer':
        await run();
        this.#failed = true;
        throw lost();
    }
  }

  #refuseDead(): void {
    if (this.#dead) throw new Killed();
  }

  #die(): never {
    this.#dead = true;
    throw new Killed();
  }
}

/** What a call ends with that goes wrong; what cannot be refused has no such error. */
interface Errors {
  readonly lost: () => CodedError;
  readonly refused: (() => CodedError) | undefined;
}

const reads: ReadonlySet<string> = new Set(['get', 'list', 'getById', 'incarnations', 'identities']);

type Around = (method: string, args: readonly unknown[], run: () => Promise<unknown>) => Promise<unknown>;

/** The port with every method that returns a promise led through `around`. */
function wrap<T extends object>(port: T, around: Around): T {
  return new Proxy(port, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: readonly unknown[]) => Promise<unknown>;
      return (...args: readonly unknown[]) => around(String(property), args, () => method(...args));
    },
  });
}

function nameOfCall(method: string, args: readonly unknown[]): string {
  switch (method) {
    case 'get':
      return 'GET';
    case 'list':
      return `LIST ${(args[0] as Resource).plural}`;
    case 'mergePatch':
      return `PATCH ${subject(args)}`;
    case 'delete':
      return 'DELETE';
    case 'patch':
      return `PATCH finalizer ${takesOff(args[1] as JsonPatch) ? 'off' : 'on'}`;
    case 'create':
      return (args[3] as { readonly dryRun?: boolean } | undefined)?.dryRun === true ? 'POST dry run' : 'POST';
    default:
      return method;
  }
}

function subject([ref, , options]: readonly unknown[]): string {
  if ((ref as ObjectRef).resource.plural === 'configmaps') return 'marker';
  return (options as WriteOptions | undefined)?.subresource ?? 'object';
}

function takesOff(patch: JsonPatch): boolean {
  return patch.some(({ op }) => op === 'remove');
}
