import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
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
  /** Undoes a cut and a freeze; what was held back goes through. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

const host = '127.0.0.1';

/** A loopback port that forwards to the target. */
export async function startTcpProxy(target: TcpProxyTarget): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let frozen = false;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    const pair = new Pair(client, target);
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
  #stranded = false;

  constructor(client: Socket, target: TcpProxyTarget) {
    this.#client = client;
    this.#target = connect({ ...target, allowHalfOpen: true });
    for (const [from, to] of this.#directions()) {
      from.setNoDelay(true);
      from.on('error', () => this.destroy());
      // What is on its way to the other side still arrives.
      from.on('close', () => to.destroySoon());
    }
  }

  flow(): void {
    if (this.#stranded) return;
    for (const [from, to] of this.#directions()) from.pipe(to);
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
