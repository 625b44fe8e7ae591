// The connections of a server: how many there are, how long each takes, and how they end. A client that keeps connections
// may send a request at the moment in which the server closes one; Go gives up a POST that it has begun to write
// (docs/adr/0019-idle-connections-end-with-an-answer.md).
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import {
  type ConnectionLimits,
  type ConnectionState,
  isOverdue,
  leastDeserving,
  type Phase,
} from './connection-limits.ts';

/** The answer to a request that may be on its way: come again, at once, on another connection. */
const CLOSING_RESPONSE = [
  'HTTP/1.1 503 Service Unavailable',
  'Retry-After: 0',
  'Content-Length: 0',
  'Connection: close',
  '',
  '',
].join('\r\n');

/** How often the connections are looked at: a deadline is kept to within this. */
const SWEEP_MS = 1000;

/** Share of the places for connections that were told to go. */
const SPARE = 1 / 8;

/** Why the server ended a connection: the phase that took too long, or `room` for another one. */
export type EndReason = Exclude<Phase, 'leaving'> | 'room';

class Connection implements ConnectionState {
  readonly address: string;
  /** The raw one until TLS is agreed on. */
  #socket: Socket;
  #opening = true;
  #inFlight = 0;
  #request: IncomingMessage | undefined;
  #requestMs = 0;
  /** When the last answer ended, and how much had been received then. */
  #quietMs = performance.now();
  #quietBytes = 0;
  #headMs: number | undefined;
  #leavingMs: number | undefined;

  constructor(raw: Socket) {
    this.#socket = raw;
    this.address = raw.remoteAddress ?? '';
  }

  get phase(): Phase {
    if (this.#opening) return 'opening';
    if (this.#leavingMs !== undefined) return 'leaving';
    if (this.#request?.complete === false) return 'body';
    if (this.#inFlight > 0) return 'answering';
    return this.#headMs === undefined ? 'idle' : 'head';
  }

  get sinceMs(): number {
    if (this.phase === 'body' || this.phase === 'answering') return this.#requestMs;
    return this.#leavingMs ?? this.#headMs ?? this.#quietMs;
  }

  opened(socket: Socket): void {
    this.#socket = socket;
    this.#opening = false;
    this.#quiet();
  }

  /** A head that has begun shows in what was received. */
  look(): void {
    if (this.phase !== 'idle' || this.#socket.bytesRead === this.#quietBytes) return;
    this.#headMs = performance.now();
  }

  asked(request: IncomingMessage): void {
    this.#request = request;
    this.#requestMs = performance.now();
    this.#headMs = undefined;
    this.#inFlight += 1;
  }

  /** Where the answer came before the whole body, the client has some time to read it and to finish or give up. */
  answered(): void {
    this.#inFlight -= 1;
    if (this.#inFlight > 0) return;
    this.#quiet();
    if (this.#request?.complete === false) this.#leavingMs = performance.now();
  }

  /** The whole body has come, which may be after its answer. */
  received(): void {
    if (!this.#socket.writableEnded) this.#leavingMs = undefined;
    if (this.#inFlight === 0) this.#quiet();
  }

  /** Ends what is idle so that no request is lost, anything else at once. */
  end(): void {
    if (this.phase === 'idle') this.sendClosingResponse();
    else this.cut();
  }

  sendClosingResponse(): void {
    if (this.#opening || this.#inFlight > 0 || this.#socket.writableEnded) return;
    this.#socket.end(CLOSING_RESPONSE);
    this.#leavingMs = performance.now();
  }

  cut(): void {
    this.#socket.destroy();
  }

  #quiet(): void {
    this.#quietMs = performance.now();
    this.#quietBytes = this.#socket.bytesRead;
  }
}

export interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  readonly onEnded?: (reason: EndReason) => void;
}

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #onEnded: (reason: EndReason) => void;
  /** By the client's address and port. */
  readonly #open = new Map<string, Connection>();
  readonly #ofSocket = new WeakMap<Socket, Connection>();
  readonly #sweeping: NodeJS.Timeout;
  #ending = false;
  #count = 0;

  constructor({ limits, onEnded = () => undefined }: ConnectionsOptions) {
    this.#limits = limits;
    this.#onEnded = onEnded;
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** How many there have been on which a request could be sent. */
  get count(): number {
    return this.#count;
  }

  /** A client has connected; the server cannot read yet what it sends. */
  accepted(raw: Socket): void {
    const key = keyOf(raw);
    if (key === undefined || !this.#makeRoom()) {
      raw.destroy();
      return;
    }
    const connection = new Connection(raw);
    this.#open.set(key, connection);
    this.#forgetWith(raw, key, connection);
  }

  /** Requests can come from now on; the socket is the one they come on. */
  opened(socket: Socket): void {
    this.#count += 1;
    const key = keyOf(socket);
    const connection = key === undefined ? undefined : this.#open.get(key);
    if (key === undefined || connection === undefined) {
      socket.destroy();
      return;
    }
    connection.opened(socket);
    this.#ofSocket.set(socket, connection);
    this.#forgetWith(socket, key, connection);
    if (this.#ending) connection.sendClosingResponse();
  }

  /** The handler, asked only for requests whose answer can still be sent. */
  handling(handler: RequestListener): RequestListener {
    return (request, response) => {
      const connection = this.#ofSocket.get(request.socket);
      if (connection === undefined || request.socket.writableEnded) {
        request.resume();
        return;
      }
      connection.asked(request);
      request.once('close', () => connection.received());
      if (this.#ending) response.setHeader('Connection', 'close');
      response.once('close', () => {
        connection.answered();
        if (this.#ending) connection.sendClosingResponse();
      });
      handler(request, response);
    };
  }

  /** Sends the closing response on each as soon as nothing is being answered on it; the client closes it then. */
  end(): void {
    this.#ending = true;
    for (const connection of this.#open.values()) connection.sendClosingResponse();
  }

  cut(): void {
    for (const connection of this.#open.values()) connection.cut();
  }

  /** After the last connection. */
  stop(): void {
    clearInterval(this.#sweeping);
  }

  #forgetWith(socket: Socket, key: string, connection: Connection): void {
    socket.once('close', () => {
      if (this.#open.get(key) === connection) this.#open.delete(key);
    });
  }

  /** False where every place is taken by a request that is being answered. */
  #makeRoom(): boolean {
    const { most } = this.#limits;
    if (this.#open.size < most) return true;
    const all = [...this.#open.values()];
    // Those that leave have a few places of their own, so that they can read why.
    const crowded = all.length >= most + Math.ceil(most * SPARE);
    const least = leastDeserving(crowded ? all : all.filter(({ phase }) => phase !== 'leaving'), performance.now());
    this.#onEnded('room');
    if (crowded) least?.cut();
    else least?.end();
    return least !== undefined;
  }

  #sweep(): void {
    const now = performance.now();
    for (const connection of this.#open.values()) {
      connection.look();
      const { phase } = connection;
      // During a shutdown `close` has the deadline.
      if (phase === 'leaving' && this.#ending) continue;
      if (!isOverdue(connection, this.#limits, now)) continue;
      if (phase !== 'leaving') this.#onEnded(phase);
      connection.end();
    }
  }
}

/** Undefined once the client is gone. */
function keyOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
