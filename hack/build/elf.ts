// Which libraries a program of Linux loads, read from its file: what would run it need not be this machine.
import { CodedError } from '../../src/base/errors.ts';

export interface Needed {
  /** What loads the program; a library names none. */
  readonly interpreter: string | undefined;
  readonly libraries: readonly string[];
}

const [programLoad, programDynamic, programInterpreter] = [1, 2, 3];
const [dynamicNeeded, dynamicStrings] = [1n, 5n];

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

export function neededBy(file: Buffer, name: string): Needed {
  const is64Bit = file.length > 64 && file.readUInt32BE(0) === 0x7f_45_4c_46 && file[4] === 2 && file[5] === 1;
  if (!is64Bit) throw new CodedError('BUILD_NOT_A_PROGRAM', `${name} is no 64-bit little-endian ELF file.`);
  const segments = segmentsOf(file);
  const interpreter = segments.find(({ type }) => type === programInterpreter);
  return {
    interpreter: interpreter === undefined ? undefined : textAt(file, interpreter.offset),
    libraries: librariesOf(file, segments),
  };
}

function segmentsOf(file: Buffer): readonly Segment[] {
  const [table, size, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => {
    const at = table + index * size;
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: Number(file.readBigUInt64LE(at + 16)),
      size: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

function librariesOf(file: Buffer, segments: readonly Segment[]): readonly string[] {
  const dynamic = segments.find(({ type }) => type === programDynamic);
  if (dynamic === undefined) return [];
  const entries = Array.from({ length: dynamic.size / 16 }, (_, index) => {
    const at = dynamic.offset + index * 16;
    return { tag: file.readBigInt64LE(at), value: Number(file.readBigUInt64LE(at + 8)) };
  });
  const strings = entries.find(({ tag }) => tag === dynamicStrings)?.value ?? 0;
  const start = offsetOf(strings, segments);
  return entries.filter(({ tag }) => tag === dynamicNeeded).map(({ value }) => textAt(file, start + value));
}

/** Where in the file stands what is loaded to that address. */
function offsetOf(address: number, segments: readonly Segment[]): number {
  const load = segments.find(
    (one) => one.type === programLoad && address >= one.address && address < one.address + one.size,
  );
  return load === undefined ? address : address - load.address + load.offset;
}

function textAt(file: Buffer, start: number): string {
  return file.toString('latin1', start, file.indexOf(0, start));
}
