// One process of the lifecycle controller over an API server: it can be killed at any write, or lose the answer to one.
import { CodedError } from '../../../src/base/errors.ts';
import { sameJson } from '../../../src/base/json.ts';
import type { KubeClient, ObjectRef, Resource, WriteOptions } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { ifFound } from '../../../src/kube/found.ts';
import { Killed, wrap } from '../crash-matrix/faulty.ts';

export type WriteBlow = 'kill before' | 'kill after' | 'lose the answer';

/** A write of an undisturbed run. */
export interface Write {
  readonly label: string;
  /** Whether anything was different afterwards. */
  readonly changes: boolean;
}

export interface WriteFault {
  readonly at: number;
  readonly label: string;
  readonly blow: WriteBlow;
}

/** Writes of all processes of one run, in their order. */
export class WriteCounter {
  readonly fault: WriteFault | undefined;
  /** Undefined: nothing is read beside the writes, to record which of them change anything. */
  readonly recorded: Write[] | undefined;
  /** Objects whose deletion was asked for. */
  readonly deleted: ObjectRef[] = [];
  /** Whether the fault has come. */
  struck = false;
  #count = 0;

  constructor(fault: WriteFault | undefined, recorded?: Write[]) {
    this.fault = fault;
    this.recorded = recorded;
  }

  next(label: string): WriteBlow | undefined {
    const at = this.#count;
    this.#count += 1;
    if (at !== this.fault?.at) return undefined;
    if (label !== this.fault.label)
      throw new CodedError('TEST_OTHER_WRITE', `write ${at} is "${label}", not "${this.fault.label}"`);
    this.struck = true;
    return this.fault.blow;
  }
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'mergePatch', 'apply', 'delete']);

/** Once it is killed, every call throws. */
export function killable(client: KubeClient, counter: WriteCounter): KubeClient {
  let dead = false;
  return wrap(client, async (method, args, run) => {
    if (dead) throw new Killed();
    if (!WRITES.has(method)) return run();
    const ref = refOf(method, args);
    const blow = counter.next(labelOf(method, ref, args));
    const die = (): never => {
      dead = true;
      throw new Killed();
    };
    if (blow === 'kill before') return die();
    if (method === 'delete') counter.deleted.push(ref);
    const answer = await (counter.recorded === undefined
      ? run()
      : recording(client, ref, run, (changes) => {
          counter.recorded?.push({ label: labelOf(method, ref, args), changes });
        }));
    if (blow === 'kill after') return die();
    if (blow === 'lose the answer') throw new KubeError('Unavailable', 'the answer was lost');
    return answer;
  });
}

async function recording<T>(
  client: KubeClient,
  ref: ObjectRef,
  run: () => Promise<T>,
  note: (changes: boolean) => void,
): Promise<T> {
  const before = contentOf(await ifFound(client.get(ref)));
  const changed = async (): Promise<boolean> => !sameJson(before, contentOf(await ifFound(client.get(ref))));
  try {
    return await run();
  } finally {
    note(await changed());
  }
}

/** Without what a write changes that changes nothing. */
export function contentOf(object: object | undefined): object {
  if (object === undefined) return {};
  const { metadata, ...rest } = object as { readonly metadata: Record<string, unknown> };
  const { resourceVersion: _, managedFields: __, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

function refOf(method: string, args: readonly unknown[]): ObjectRef {
  if (method !== 'create') return args[0] as ObjectRef;
  const [resource, namespace, object] = args as [Resource, string, { readonly metadata: { readonly name: string } }];
  return { resource, namespace, name: object.metadata.name };
}

function labelOf(method: string, { resource, name }: ObjectRef, args: readonly unknown[]): string {
  const { subresource } = (args.at(-1) ?? {}) as WriteOptions;
  return `${method} ${resource.plural}/${name}${subresource === undefined ? '' : ` ${subresource}`}`;
}
