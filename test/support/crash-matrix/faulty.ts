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
import type { MetadataStorage, StoredObject } from '../../../src/storage/metadata-storage.ts';
import type { ObjectRow } from '../../../src/storage/row.ts';

/** Thrown out of a process that was killed; everything it calls afterwards throws it too. */
export class Killed extends CodedError {
  constructor() {
    super('TEST_KILLED', 'the process was killed here');
  }
}

/**
 * What happens to one call. `comes late`: the caller's deadline has passed, and the server carries the call out all the
 * same, after the next call. `is refused`: a write, by a policy or by the database; reads pass. `is stale`: a read of MySQL
 * is answered by a server that is behind; writes pass.
 */
export type Blow =
  | 'kill before'
  | 'kill after'
  | 'fail'
  | 'lose the answer'
  | 'gate closed'
  | 'comes late'
  | 'is refused'
  | 'is stale';

export interface Step {
  /** Counted over the whole flow, restarts and repeats included. */
  readonly index: number;
  readonly label: string;
}

export interface Script {
  /** Runs before the call; the call goes on as the returned blow says. */
  readonly before: (step: Step) => Promise<Blow | undefined>;
  /** Whether reads may be stale, so that the rows of before each write have to be known. */
  readonly staleReads?: boolean;
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
  readonly #rows: Pick<MetadataStorage, 'getById'>;
  /** What a server that is behind has, by uid: the row of before the last write of this process. */
  readonly #behind = new Map<string, StoredObject | undefined>();
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
    this.storage = wrap(parts.storage, (method, args, run) => this.#mysql(method, args, run));
    this.#rows = parts.storage;
  }

  /** A step that is a call to neither port, such as a write to disk. */
  other<T>(label: string, run: () => Promise<T>): Promise<T> {
    return this.#step(label, run, {
      lost: () => new StorageUnavailableError('scripted', undefined),
      refused: undefined,
      stale: undefined,
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
    return this.#step(`API server: ${nameOfCall(method, args)}`, noted, { lost, refused, stale: undefined });
  }

  #mysql(method: string, args: readonly unknown[], run: () => Promise<unknown>): Promise<unknown> {
    const lost = (): CodedError => new StorageUnavailableError('scripted', undefined);
    if (reads.has(method)) {
      const stale = (): unknown => (method === 'getById' ? this.#behind.get(String(args[1])) : []);
      return this.#step(`MySQL: ${method}`, run, { lost, refused: undefined, stale });
    }
    const write = async (): Promise<unknown> => {
      if (this.#script.staleReads === true) await this.#rememberRow(args[0] as ObjectRow);
      return run();
    };
    return this.#step(`MySQL: ${method}`, write, {
      lost,
      refused: () => new RowRefusedError('scripted'),
      stale: undefined,
    });
  }

  async #rememberRow({ kind, uid }: ObjectRow): Promise<void> {
    this.#behind.set(uid, await this.#rows.getById(kind, uid));
  }

  async #step<T>(label: string, run: () => Promise<T>, { lost, refused, stale }: Errors): Promise<T> {
    this.#refuseDead();
    const late = this.#late.splice(0);
    const blow = await this.#script.before(this.#counter.next(label));
    this.#refuseDead();
    try {
      return await this.#carryOut(blow, run, { lost, refused, stale });
    } finally {
      // Its answer reaches no caller.
      for (const call of late) await call().catch(() => undefined);
    }
  }

  async #carryOut<T>(blow: Blow | undefined, run: () => Promise<T>, { lost, refused, stale }: Errors): Promise<T> {
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
      case 'is stale':
        return stale === undefined ? run() : (stale() as T);
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

/** What a call ends with that goes wrong; undefined where it cannot go wrong in that way. */
interface Errors {
  readonly lost: () => CodedError;
  readonly refused: (() => CodedError) | undefined;
  readonly stale: (() => unknown) | undefined;
}

const reads: ReadonlySet<string> = new Set(['get', 'list', 'getById', 'incarnations', 'identities']);

export type Around = (method: string, args: readonly unknown[], run: () => Promise<unknown>) => Promise<unknown>;

/** The port with every method that returns a promise led through `around`. */
export function wrap<T extends object>(port: T, around: Around): T {
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
