import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { ProtoEncodingError } from './errors.ts';
import { MAX_DEPTH, type Position, pathOf } from './position.ts';

/** What an object has and its bytes do not. `path` is where, never what. */
export interface LeftOut {
  readonly path: string;
  /** What the definition wants instead; undefined for a field that no definition has. */
  readonly expected: string | undefined;
}

/** Told of everything that is left out, one call each, up to a bound for each object. */
export type OnLeftOut = (left: LeftOut) => void;

/** Refuses the object at the first value that does not fit. Fields that no definition has stay in the JSON alone. */
export const refuseLeftOut: OnLeftOut = ({ path, expected }) => {
  if (expected !== undefined) throw new ProtoEncodingError(path, expected);
};

/** A user can write an object of a million wrong values; more than these tell nothing new. */
const MAX_TOLD = 20;

/** Where the bytes of one object go, and what does not go into them. */
export class Encoding {
  readonly writer: BinaryWriter;
  readonly #onLeftOut: OnLeftOut;
  #told = 0;

  constructor(writer: BinaryWriter, onLeftOut: OnLeftOut) {
    this.writer = writer;
    this.#onLeftOut = onLeftOut;
  }

  /** False, so that a check can end with it. */
  leaveOut(at: Position, expected: string | undefined): false {
    this.#told += 1;
    if (this.#told <= MAX_TOLD) this.#onLeftOut({ path: pathOf(at), expected });
    return false;
  }

  /** The value as an object that is not nested too deep to go on; undefined where it is left out. */
  objectAt(value: unknown, at: Position): JsonObject | undefined {
    if (isJsonObject(value)) return this.isShallow(at) ? value : undefined;
    this.leaveOut(at, 'an object');
    return undefined;
  }

  isShallow(at: Position): boolean {
    return at.depth <= MAX_DEPTH || this.leaveOut(at, `no more than ${MAX_DEPTH} nested levels`);
  }

  /** A lone surrogate has no UTF-8 form; the writer would store another text. */
  isText(text: string, at: Position, what = 'a string'): boolean {
    return text.isWellFormed() || this.leaveOut(at, `${what} of valid Unicode`);
  }
}
