// Final states on disk, of objects whose finalizer was removed while MySQL was away. A line is complete on disk before the
// finalizer comes off. After a power cut the last line may be torn; its object still has the finalizer then.
//
// A line is taken out only after MySQL has it. One that MySQL will never take as it is, and one of a kind that this
// program does not know, moves to a file beside it and keeps nothing else waiting; it is tried again by the next process,
// which may know more. A damaged line moves to a file for the operator to look at.
import { join } from 'node:path';
import type { KindDefinition } from '../../api/kind.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { CodedError, messageOf } from '../../base/errors.ts';
import { valueAt } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import type { ObjectRow } from '../../storage/row.ts';
import type { SensitiveValues } from '../../storage/sensitive.ts';
import { SpoolDiskError } from '../errors.ts';
import { type ProtoEncoder, storedForm, toRow } from '../row.ts';
import { type Ending, storeEnding } from './ending.ts';
import type { UnsavedEnding } from './outage-policy.ts';
import { append, filter, fromLine, linesOf, measure, type Size, toLine } from './spool-file.ts';

export interface SpoolOptions {
  /** Used by this process alone. */
  readonly directory: string;
  /** Under the names that their tables have. */
  readonly kinds: readonly KindDefinition[];
  readonly maxBytes: number;
  readonly sensitive: SensitiveValues;
  readonly logger: Logger;
  readonly onCount?: (count: SpoolCount) => void;
}

export interface SpoolCount {
  /** Final states that wait for MySQL. */
  readonly waiting: number;
  /** Final states that MySQL does not take, and lines that are damaged. */
  readonly aside: number;
}

/** On disk they are sealed or masked already. */
const asStored: SensitiveValues = {
  seal: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  open: (text) => text,
  outdated: () => false,
};

interface Entry {
  readonly kind: string;
  readonly ending: Ending;
  readonly at: string;
  readonly object: KubernetesObject;
}

const NOTHING: Size = { bytes: 0, lines: 0 };

interface Target {
  readonly storage: MetadataStorage;
  readonly encode: ProtoEncoder;
}

export class Spool {
  readonly #options: SpoolOptions;
  readonly #kinds: ReadonlyMap<string, KindDefinition>;
  /** One thing at a time: what is appended while lines are taken out must not be lost. */
  #last: Promise<unknown> = Promise.resolve();
  /** Of the complete lines of each file; undefined where it has to be looked up. */
  #sizes: Partial<Record<'waiting' | 'aside' | 'damaged', Size | undefined>> = {};
  /** Whether this process has tried what an earlier one moved aside. */
  #triedAside = false;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]));
  }

  /** Resolves when the line is on disk; false where there is no room for it. Throws SpoolDiskError where the disk fails. */
  append(unsaved: UnsavedEnding): Promise<boolean> {
    return this.#exclusively(() => this.#append(unsaved));
  }

  /** Writes everything to MySQL and then forgets it; gives how many. Throws, keeping the rest, where MySQL fails. */
  replay(storage: MetadataStorage, encode: ProtoEncoder): Promise<number> {
    return this.#exclusively(() => this.#replay({ storage, encode }));
  }

  #file(which: 'waiting' | 'aside' | 'damaged'): string {
    const file = join(this.#options.directory, 'final-states.jsonl');
    return which === 'waiting' ? file : `${file}.${which}`;
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const named = (): Promise<T> => onDisk(work);
    const next = this.#last.then(named, named);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #append({ kind, object, ending, at }: UnsavedEnding): Promise<boolean> {
    const { maxBytes, sensitive, logger } = this.#options;
    const [waiting, aside, damaged] = [
      await this.#size('waiting'),
      await this.#size('aside'),
      await this.#size('damaged'),
    ];
    const entry: Entry = { kind: kind.kind, ending, at: at.toISOString(), object: storedForm(kind, object, sensitive) };
    const line = toLine(JSON.stringify(entry));
    if (waiting.bytes + aside.bytes + damaged.bytes + Buffer.byteLength(line) + 1 > maxBytes) {
      logger.error({ maxBytes }, 'The spool is full; deletions wait for MySQL again');
      return false;
    }
    await this.#add('waiting', line);
    return true;
  }

  async #size(which: 'waiting' | 'aside' | 'damaged'): Promise<Size> {
    return (this.#sizes[which] ??= await measure(this.#file(which)));
  }

  async #add(which: 'waiting' | 'aside' | 'damaged', line: string): Promise<void> {
    const size = await this.#size(which);
    // Until it is known to be there, nothing is known about the end of the file.
    this.#sizes[which] = undefined;
    await onDisk(() => append(this.#file(which), line));
    this.#sizes[which] = { bytes: size.bytes + Buffer.byteLength(line) + 1, lines: size.lines + 1 };
    this.#tell();
  }

  #tell(): void {
    const { waiting = NOTHING, aside = NOTHING, damaged = NOTHING } = this.#sizes;
    this.#options.onCount?.({ waiting: waiting.lines, aside: aside.lines + damaged.lines });
  }

  async #replay(target: Target): Promise<number> {
    for (const which of ['waiting', 'aside', 'damaged'] as const) await this.#size(which);
    this.#tell();
    let stored = 0;
    if (!this.#triedAside) {
      stored += await this.#pass('aside', target);
      this.#triedAside = true;
    }
    return stored + (await this.#pass('waiting', target));
  }

  /** Takes out of a file what MySQL has then, and out of what waits what MySQL will never take. */
  async #pass(which: 'waiting' | 'aside', target: Target): Promise<number> {
    if ((await this.#size(which)).lines === 0) return 0;
    const known = which === 'waiting' ? await this.#aside() : new Set<string>();
    let [stored, moved] = [0, 0];
    let failure: Error | undefined;
    const keeps = async (line: string): Promise<boolean> => {
      if (failure !== undefined && !concernsOneRow(failure)) return true;
      try {
        const refused = await this.#store(line, target);
        if (refused !== undefined && which === 'aside') return true;
        if (refused !== undefined) await this.#moveAside(line, refused, known);
        if (refused === undefined) stored += 1;
        else moved += 1;
        return false;
      } catch (error) {
        // Nothing has changed, so the file need not be written anew.
        if (stored + moved === 0 && !concernsOneRow(error)) throw error;
        failure ??= error as Error;
        return true;
      }
    };
    this.#sizes[which] = undefined;
    this.#sizes[which] = await filter(this.#file(which), keeps);
    this.#tell();
    if (failure !== undefined) throw failure;
    return stored;
  }

  /** Lines that were moved before a crash are not moved again. */
  async #aside(): Promise<Set<string>> {
    const known = new Set<string>();
    for (const which of ['aside', 'damaged'] as const) {
      for await (const line of linesOf(this.#file(which))) known.add(markOf(line));
    }
    return known;
  }

  /** Undefined when MySQL has it, else why it will not take it. Throws where it may take it later. */
  async #store(line: string, { storage, encode }: Target): Promise<Refusal | undefined> {
    const json = fromLine(line);
    if (json === undefined) return { to: 'damaged', what: 'a damaged line' };
    const { kind: name, object, ending, at } = parseLossless(json) as Entry;
    const { namespace, name: objectName, uid } = object.metadata;
    const refusal = (reason: string): Refusal => ({
      to: 'aside',
      what: `${name} ${namespace}/${objectName}, uid ${uid}: ${reason}`,
    });
    const kind = this.#kinds.get(name);
    if (kind === undefined) return refusal('this program does not know the kind');
    try {
      const row = toRow(kind, object, encode, asStored);
      await storeLast(storage, { row, object }, { ending, at: new Date(at) });
      return undefined;
    } catch (error) {
      if (error instanceof CodedError && error.retry === 'yes') throw error;
      return refusal(messageOf(error));
    }
  }

  async #moveAside(line: string, { to, what }: Refusal, known: Set<string>): Promise<void> {
    const mark = markOf(line);
    if (known.has(mark)) return;
    await this.#add(to, line);
    known.add(mark);
    const file = this.#file(to);
    this.#options.logger.error({ what, file }, 'A final state cannot be written to MySQL; it is kept in a file');
  }
}

const ofOneRow: ReadonlySet<string> = new Set([
  'STORAGE_FAILURE',
  'STORAGE_PROGRAM_ERROR',
  'STORAGE_CONTENTION',
  'STORAGE_SCHEMA_MISSING',
  'SPOOL_DISK',
]);

/** Whether other final states may have more luck. */
function concernsOneRow(error: unknown): boolean {
  return error instanceof CodedError && ofOneRow.has(error.code);
}

/** Names what the disk is at fault for. */
async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { syscall } = error as { readonly syscall?: string };
    throw syscall === undefined ? error : new SpoolDiskError(messageOf(error), error);
  }
}

interface Refusal {
  readonly to: 'aside' | 'damaged';
  /** Names the object, and nothing of its content. */
  readonly what: string;
}

/** The checksum of a whole line, the beginning of a damaged one. */
function markOf(line: string): string {
  return line.slice(0, 64);
}

/**
 * A newer row is a later state of the same deletion, or of a time that is no more: etcd was restored from a backup. Then
 * the object is gone, and nothing but this line can set the row back.
 */
async function storeLast(
  storage: MetadataStorage,
  { row, object }: { readonly row: ObjectRow; readonly object: KubernetesObject },
  end: { readonly ending: Ending; readonly at: Date },
): Promise<void> {
  if ((await storeEnding(storage, row, end)) !== 'stale') return;
  const stored = await storage.getById(row.kind, row.uid);
  if (stored === undefined || deletionOf(parseLossless(stored.json)) === deletionOf(object)) return;
  const intended = stored.state === 'evicting' || stored.state === 'evicted';
  const as = intended ? ({ state: 'evicting', at: end.at } as const) : ({ state: 'live' } as const);
  await storage.replace(row, stored.resourceVersion, as);
  await storeEnding(storage, row, end);
}

function deletionOf(object: unknown): unknown {
  return valueAt(object, ['metadata', 'deletionTimestamp']);
}
