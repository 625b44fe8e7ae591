import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { freePort } from './free-port.ts';

export interface TcpProxyTarget {
  readonly host: string;
  readonly port: number;
}

/** A way to a server that a test can break. */
export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  /** Breaks all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Keeps connections open and accepts new ones, but lets nothing through. */
  freeze(): void;
  /** Open connections are silently dead from now on; new ones work. */
  strand(): void;
  /** Connections made from now on bring everything that much later, in each direction, as a long way does. */
  delay(ms: number): void;
  /** Undoes a cut and a freeze; what was held back goes through. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

const host = '127.0.0.1';

/** A loopback port that forwards to the target. */
export async function startTcpProxy(target: TcpProxyTarget): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let frozen = false;
  let delayMs = 0;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    const pair = new Pair(client, target, delayMs);
    pairs.add(pair);
    pair.onClose(() => pairs.delete(pair));
    if (!frozen) pair.flow();
  });
  const port = await freePort();
  const listen = async (): Promise<void> => {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  };
  const cut = async (): Promise<void> => {
    const closed = server.listening ? once(server, 'close') : undefined;
    server.close();
    for (const pair of pairs) pair.destroy();
    await closed;
  };
  await listen();
  return {
    host,
    port,
    cut,
    freeze: () => {
      frozen = true;
      for (const pair of pairs) pair.hold();
    },
    strand: () => {
      for (const pair of pairs) pair.strand();
    },
    delay: (ms) => {
      delayMs = ms;
    },
    heal: async () => {
      frozen = false;
      if (!server.listening) await listen();
      for (const pair of pairs) pair.flow();
    },
    close: cut,
  };
}

/** A client's connection and ours to the target, which live and die together. */
class Pair {
  readonly #client: Socket;
  readonly #target: Socket;
  readonly #delayMs: number;
  #stranded = false;

  constructor(client: Socket, target: TcpProxyTarget, delayMs: number) {
    this.#client = client;
    this.#delayMs = delayMs;
    this.#target = connect({ ...target, allowHalfOpen: true });
    for (const [from, to] of this.#directions()) {
      from.setNoDelay(true);
      from.on('error', () => this.destroy());
      // What is on its way to the other side still arrives.
      from.on('close', () => {
        if (delayMs === 0) to.destroySoon();
        else setTimeout(() => to.destroySoon(), delayMs);
      });
    }
  }

  flow(): void {
    if (this.#stranded) return;
    for (const [from, to] of this.#directions()) {
      if (this.#delayMs === 0) from.pipe(to);
      else from.pipe(later(this.#delayMs)).pipe(to);
    }
  }

  hold(): void {
    for (const [from] of this.#directions()) from.unpipe().pause();
  }

  strand(): void {
    this.#stranded = true;
    this.hold();
  }

  destroy(): void {
    this.#client.destroy();
    this.#target.destroy();
  }

  onClose(listener: () => void): void {
    this.#client.once('close', listener);
  }

  #directions(): readonly (readonly [Socket, Socket])[] {
    return [
      [this.#client, this.#target],
      [this.#target, this.#client],
    ];
  }
}

/** Gives what it gets that much later. What is under way is not held up by what comes after it. */
function later(ms: number): Duplex {
  const way = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, taken) => {
      setTimeout(() => way.push(chunk), ms);
      taken();
    },
    final: (taken) => {
      setTimeout(() => way.push(null), ms);
      taken();
    },
  });
  return way;
}
