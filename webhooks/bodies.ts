// The bodies of all requests of the process, within bytes that are there before a body is read. Any client that reaches
// the port may send bodies; none of them may end the process, or keep those of the API server out (docs/admission.md,
// Memory).
import type { IncomingMessage } from 'node:http';
import { ByteBudget } from '../src/base/byte-budget.ts';
import type { Clock } from '../src/base/clock.ts';
import { CodedError } from '../src/base/errors.ts';
import { BodyRoom, type Visitor } from './body-room.ts';
import { ReviewError } from './review.ts';

const MIB = 1024 * 1024;
/** Two objects of at most 3 MiB each, as etcd can hold, and one for the rest of the review. */
const MAX_BODY_BYTES = 7 * MIB;
/** Ordinary objects have room of their own, so that they never wait for large ones, and are not worth weighing. */
const SMALL_BYTES = 64 * 1024;
const SMALL_ROOM = 8 * MIB;
const LARGE_ROOM = 16 * MIB;
/** Of what is parsed, and what one body may become. The rest is for small ones while large ones are answered. */
const PARSED_ROOM = 56 * MIB;
const MAX_PARSED_BYTES = 40 * MIB;

/** The API server repeats a call that is answered so, up to ten times within its timeout. */
export class BusyError extends CodedError {
  readonly status = 503;
  readonly retryAfterSeconds = 1;

  constructor() {
    super('WEBHOOK_BUSY', 'there is no room for the body of this request; try again', { retry: 'yes' });
  }
}

export interface Body {
  readonly bytes: Buffer;
  /** After the answer: what was taken for the body is there for others. */
  release(): void;
}

export class Bodies {
  readonly #small: BodyRoom;
  readonly #large: BodyRoom;
  readonly #parsed = new ByteBudget(PARSED_ROOM);

  constructor(clock: Clock) {
    this.#small = new BodyRoom(SMALL_ROOM, clock);
    this.#large = new BodyRoom(LARGE_ROOM, clock);
  }

  /** The whole body, once there is room for it and for what it is parsed to. */
  async read(request: IncomingMessage): Promise<Body> {
    const length = lengthOf(request);
    const room = length <= SMALL_BYTES ? this.#small : this.#large;
    const { bytes, leave } = await receive(request, length, room);
    const weight = parsedBytes(bytes);
    try {
      this.#takeParsed(weight);
    } catch (error) {
      leave();
      throw error;
    }
    return {
      bytes,
      release: () => {
        this.#parsed.give(weight);
        leave();
      },
    };
  }

  #takeParsed(weight: number): void {
    if (weight > MAX_PARSED_BYTES) {
      throw new ReviewError(413, `the body has more values than fit into ${MAX_PARSED_BYTES} bytes`);
    }
    const most = weight <= SMALL_BYTES * 8 ? PARSED_ROOM : MAX_PARSED_BYTES;
    if (this.#parsed.used + weight > most || !this.#parsed.tryTake(weight)) throw new BusyError();
  }
}

function lengthOf({ headers }: IncomingMessage): number {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new ReviewError(415, 'expected a body without Content-Encoding');
  }
  // Room is made before the body is read, and the API server always says how much it sends.
  const length = headers['content-length'];
  if (length === undefined) throw new ReviewError(411, 'expected a Content-Length');
  if (Number(length) > MAX_BODY_BYTES) {
    throw new ReviewError(413, `the body is larger than ${MAX_BODY_BYTES} bytes`);
  }
  return Number(length);
}

interface Received {
  readonly bytes: Buffer;
  readonly leave: () => void;
}

/** Rejects where the body has to go before it is whole, or its client does. What is left of it is not read then. */
function receive(request: IncomingMessage, length: number, room: BodyRoom): Promise<Received> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    let received = 0;
    const keep = (piece: Buffer): void => {
      received += piece.copy(bytes, received);
      if (received === length) finish(() => resolve({ bytes, leave: () => room.leave(visitor) }));
    };
    const gone = (): void => {
      room.leave(visitor);
      finish(() => reject(new ReviewError(400, 'the body could not be read')));
    };
    const finish = (settle: () => void): void => {
      request.off('data', keep).off('close', gone).off('error', gone);
      settle();
    };
    const visitor: Visitor = {
      bytes: length,
      received: () => received,
      admit: () => {
        // Not filled: memory is used as the body comes.
        bytes = Buffer.allocUnsafeSlow(length);
        if (length === 0) finish(() => resolve({ bytes, leave: () => room.leave(visitor) }));
        else request.on('data', keep);
      },
      refuse: () => {
        // Without a listener Node would read the rest at full speed, to throw it away.
        request.on('data', () => undefined).pause();
        finish(() => reject(new BusyError()));
      },
    };
    request.once('close', gone).once('error', gone);
    room.enter(visitor);
  });
}

// What parsing a body will take, before it is parsed: seven MiB of "{}," become 140 MiB of objects.

/** Bytes of memory for each character that begins a value or a member, measured on V8 of Node 24. */
const perCharacter: Readonly<Record<string, number>> = { '{': 64, '[': 48, ':': 48, ',': 12, '"': 12 };

const costs = new Uint8Array(256);
for (const [character, cost] of Object.entries(perCharacter)) costs[character.charCodeAt(0)] = cost;

/** The text twice, before and after it is decoded, and objects of ordinary JSON. */
const SMALL_FACTOR = 8;

/** Characters inside strings count too, so it may be less. */
export function parsedBytes(body: Buffer): number {
  if (body.length <= SMALL_BYTES) return body.length * SMALL_FACTOR;
  const { length } = body;
  let bytes = length;
  // By index, which is ten times as fast as an iterator or a callback, and this looks at every byte of large bodies.
  for (let at = 0; at < length; at += 1) bytes += costs[body[at] ?? 0] ?? 0;
  return bytes;
}
