// Final states on disk, of objects that were released while MySQL was away. One line each, with a checksum:
//
//   sha256 of the rest, tab, JSON
//
// A line is complete on disk before the finalizer comes off. After a power cut the last line may be torn; its object was
// not released then. Lines are taken out only after MySQL has every one of them.
import { mkdir, open, readFile, rename, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { findKind } from '../api/kinds.ts';
import type { KubernetesObject } from '../api/object.ts';
import { sha256Hex } from '../base/hash.ts';
import type { Logger } from '../base/logger.ts';
import { parseLossless } from '../base/lossless-json.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import type { SensitiveValues } from '../storage/sensitive.ts';
import { type Ending, storeEnding } from './ending.ts';
import type { UnsavedEnding } from './outage-release.ts';
import { type ProtoEncoder, storedForm, toRow } from './row.ts';

export interface SpoolOptions {
  /** Used by this process alone. */
  readonly directory: string;
  readonly maxBytes: number;
  readonly sensitive: SensitiveValues;
  readonly logger: Logger;
  readonly onCount?: (count: number) => void;
}

/** On disk they are sealed or masked already. */
const asStored: SensitiveValues = {
  seal: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  open: (text) => text,
  outdated: () => false,
};

interface Size {
  readonly bytes: number;
  readonly lines: number;
}

interface Entry {
  readonly kind: string;
  readonly ending: Ending;
  readonly at: string;
  readonly object: KubernetesObject;
}

export class Spool {
  readonly #options: SpoolOptions;
  /** One thing at a time: what is appended while lines are taken out must not be lost. */
  #last: Promise<unknown> = Promise.resolve();
  /** Of the complete lines; undefined where it has to be looked up. */
  #size: Size | undefined;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** Resolves when the line is on disk; false where there is no room for it. Throws where the disk fails. */
  append(unsaved: UnsavedEnding): Promise<boolean> {
    return this.#exclusively(() => this.#append(unsaved));
  }

  /** Writes everything to MySQL and then forgets it; gives how many. Throws, keeping all, where MySQL fails. */
  replay(storage: MetadataStorage, encode: ProtoEncoder): Promise<number> {
    return this.#exclusively(() => this.#replay(storage, encode));
  }

  get #file(): string {
    return join(this.#options.directory, 'released.jsonl');
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #append({ kind, object, ending, at }: UnsavedEnding): Promise<boolean> {
    const { directory, maxBytes, sensitive, logger, onCount } = this.#options;
    await mkdir(directory, { recursive: true });
    const size = (this.#size ??= await this.#measure());
    const entry: Entry = { kind: kind.kind, ending, at: at.toISOString(), object: storedForm(kind, object, sensitive) };
    const line = toLine(JSON.stringify(entry));
    if (size.bytes + Buffer.byteLength(line) > maxBytes) {
      logger.error({ maxBytes }, 'The spool is full; deletions wait for MySQL again');
      return false;
    }
    // Until it is known to be there, nothing is known about the end of the file.
    this.#size = undefined;
    await appendAndSync(this.#file, line);
    if (size.bytes === 0) await syncDirectory(directory);
    this.#size = { bytes: size.bytes + Buffer.byteLength(line), lines: size.lines + 1 };
    onCount?.(this.#size.lines);
    return true;
  }

  /** Cuts off a torn last line: its object was not released. */
  async #measure(): Promise<Size> {
    const text = await readOrEmpty(this.#file);
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const size = { bytes: Buffer.byteLength(whole), lines: whole.split('\n').length - 1 };
    if (whole !== text) await truncate(this.#file, size.bytes);
    return size;
  }

  async #replay(storage: MetadataStorage, encode: ProtoEncoder): Promise<number> {
    const { logger, onCount } = this.#options;
    const { entries, damaged } = await this.#read();
    onCount?.(entries.length);
    if (entries.length + damaged === 0) return 0;
    for (const { kind: name, object, ending, at } of entries) {
      const kind = findKind(name);
      if (kind === undefined) continue;
      await storeEnding(storage, toRow(kind, object, encode, asStored), { ending, at: new Date(at) });
    }
    if (damaged > 0) {
      const kept = `${this.#file}.damaged`;
      await rename(this.#file, kept);
      logger.error({ damaged, file: kept }, 'The spool had damaged lines; the file is kept for a person to look at');
    } else {
      await rm(this.#file, { force: true });
    }
    this.#size = undefined;
    await syncDirectory(this.#options.directory);
    onCount?.(0);
    return entries.length;
  }

  async #read(): Promise<{ readonly entries: readonly Entry[]; readonly damaged: number }> {
    const text = await readOrEmpty(this.#file);
    const lines = text.split('\n').slice(0, -1).map(fromLine);
    const entries = lines.filter((entry) => entry !== undefined);
    return { entries, damaged: lines.length - entries.length };
  }
}

async function appendAndSync(file: string, line: string): Promise<void> {
  const handle = await open(file, 'a');
  try {
    await handle.appendFile(line);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function toLine(json: string): string {
  return `${sha256Hex(json)}\t${json}\n`;
}

/** Undefined where the line is damaged. */
function fromLine(line: string): Entry | undefined {
  const tab = line.indexOf('\t');
  const json = line.slice(tab + 1);
  return tab > 0 && line.slice(0, tab) === sha256Hex(json) ? (parseLossless(json) as Entry) : undefined;
}

async function readOrEmpty(file: string): Promise<string> {
  try {
    await stat(file);
  } catch {
    return '';
  }
  return readFile(file, 'utf8');
}

/** A new or removed name is on disk only when its folder is. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
