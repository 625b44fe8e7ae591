// Files of lines that survive a power cut. One line each, with a checksum:
//
//   sha256 of the rest, tab, JSON
//
// Files are read line by line: they may be larger than the memory of a process.
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sha256Hex } from '../../base/hash.ts';

const NEWLINE = 0x0a;

export interface Size {
  readonly bytes: number;
  readonly lines: number;
}

export function toLine(json: string): string {
  return `${sha256Hex(json)}\t${json}`;
}

/** The JSON of a line; undefined where the line is damaged. */
export function fromLine(line: string): string | undefined {
  const tab = line.indexOf('\t');
  const json = line.slice(tab + 1);
  return tab > 0 && line.slice(0, tab) === sha256Hex(json) ? json : undefined;
}

/** The complete lines of a file, none where there is no file. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const pending: Buffer[] = [];
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        yield Buffer.concat([...pending.splice(0), chunk.subarray(start, end)]).toString();
        start = end + 1;
      }
      if (start < chunk.length) pending.push(chunk.subarray(start));
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Of the complete lines. A torn last one, of a write that was never answered, is cut off. */
export async function measure(file: string): Promise<Size> {
  let size: Size = { bytes: 0, lines: 0 };
  for await (const line of linesOf(file))
    size = { bytes: size.bytes + Buffer.byteLength(line) + 1, lines: size.lines + 1 };
  try {
    await truncate(file, size.bytes);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return size;
}

/** Resolves when the line would survive a power cut. */
export async function append(file: string, line: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const handle = await open(file, 'a');
  try {
    const isNew = (await handle.stat()).size === 0;
    await handle.appendFile(`${line}\n`);
    await handle.sync();
    if (isNew) await syncFolder(file);
  } finally {
    await handle.close();
  }
}

/**
 * What `keeps` says of each line, in order, is what stays in the file. Before a crash or after it, never in between. It is
 * asked about every line, also where the disk fails and all of them stay.
 */
export async function filter(file: string, keeps: (line: string) => Promise<boolean>): Promise<Size> {
  const next = `${file}.next`;
  const handle = await open(next, 'w');
  let size: Size = { bytes: 0, lines: 0 };
  let dropped = 0;
  let failure: unknown;
  try {
    for await (const line of linesOf(file)) {
      if (!(await keeps(line))) {
        dropped += 1;
        continue;
      }
      size = { bytes: size.bytes + Buffer.byteLength(line) + 1, lines: size.lines + 1 };
      if (failure === undefined) await handle.appendFile(`${line}\n`).catch((error: unknown) => (failure = error));
    }
    if (failure === undefined) await handle.sync();
  } finally {
    await handle.close();
    if (failure !== undefined) await rm(next);
  }
  if (failure !== undefined) throw failure as Error;
  if (dropped === 0) await rm(next);
  else if (size.lines > 0) await rename(next, file);
  else await Promise.all([rm(next, { force: true }), rm(file, { force: true })]);
  await syncFolder(file);
  return size;
}

/** A new or removed name is on disk only when its folder is. */
async function syncFolder(file: string): Promise<void> {
  const handle = await open(dirname(file), 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isMissing(error: unknown): boolean {
  return (error as { readonly code?: string }).code === 'ENOENT';
}
