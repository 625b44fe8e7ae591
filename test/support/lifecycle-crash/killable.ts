// One process of the lifecycle controller over an API server: it can be killed at any write, or lose the answer to one.
import { CodedError } from '../../../src/base/errors.ts';
import { sameJson, valueAt } from '../../../src/base/json.ts';
import type { KubeClient, ObjectRef, Resource, WriteOptions } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { ifFound } from '../../../src/kube/found.ts';
import { MANIFEST_ANNOTATION } from '../../../src/lifecycle/reconcile/put-back.ts';
import { Killed, wrap } from '../crash-matrix/faulty.ts';

export type WriteBlow = 'kill before' | 'kill after' | 'lose the answer';

/** A write of an undisturbed run. */
export interface Write {
  readonly label: string;
  /** Whether anything was different afterwards. */
  readonly changes: boolean;
}

/** Once, at the write of that number; or again and again, at every so many of those that change something. */
export type WriteFault =
  | { readonly blow: WriteBlow; readonly at: number; readonly label: string }
  | { readonly blow: WriteBlow; readonly every: number; readonly offset: number };

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

  /** Whether what is applied has to be compared with what is there. */
  get comparesApplied(): boolean {
    return this.fault !== undefined && 'every' in this.fault;
  }

  next(label: string): WriteBlow | undefined {
    const { fault } = this;
    const at = this.#count;
    this.#count += 1;
    if (fault === undefined) return undefined;
    if ('every' in fault) {
      if (at % fault.every !== fault.offset) return undefined;
    } else {
      if (at !== fault.at) return undefined;
      if (label !== fault.label)
        throw new CodedError('TEST_OTHER_WRITE', `write ${at} is "${label}", not "${fault.label}"`);
    }
    this.struck = true;
    return fault.blow;
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
    if (method === 'apply' && counter.comparesApplied && (await isApplied(client, ref, args[1]))) return run();
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

/** By the hash that every child carries. */
async function isApplied(client: KubeClient, ref: ObjectRef, wanted: unknown): Promise<boolean> {
  const hashOf = (of: unknown): unknown => valueAt(of, ['metadata', 'annotations', MANIFEST_ANNOTATION]);
  return hashOf(await ifFound(client.get(ref))) === hashOf(wanted);
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
