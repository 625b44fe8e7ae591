import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/**
 * What happens to a statement on its way to the server.
 * - `pass`: it gets through, and so does its answer
 * - `cut-before`: the connection breaks and the server never hears of it
 * - `cut-after`: the server carries it out, and the connection breaks instead of the answer
 * - `hold`: the server never hears of it, and the connection stays open
 */
export type Verdict = 'pass' | 'cut-before' | 'cut-after' | 'hold';

export interface MysqlProxy {
  readonly host: string;
  readonly port: number;
  /** Breaks every connection there is; new ones are made as ever. */
  drop(): void;
  close(): Promise<void>;
}

interface Target {
  readonly host: string;
  readonly port: number;
}

const HOST = '127.0.0.1';
const HEADER_BYTES = 4;
const COM_QUERY = 0x03;
const COM_STMT_PREPARE = 0x16;
const COM_STMT_EXECUTE = 0x17;

/** What else a client asks for; a handshake is judged when the connection is made, before the server says a word. */
export type Step = 'handshake' | 'prepare' | 'execute';

/** A statement waits for its verdict, and so does what follows it on the connection. */
type Judge = (sql: string) => Verdict | Promise<Verdict>;

/** A way to a server that understands the protocol and breaks exactly where a test says. */
export async function startMysqlProxy(
  target: Target,
  judge: Judge,
  judgeStep: (step: Step) => Verdict = () => 'pass',
): Promise<MysqlProxy> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    if (judgeStep('handshake') === 'hold') client.on('error', () => client.destroy());
    else link(client, connect({ host: target.host, port: target.port }), { judge, judgeStep });
  });
  server.listen({ host: HOST, port: 0 });
  await once(server, 'listening');
  const address = server.address() as { readonly port: number };
  const drop = (): void => {
    for (const client of clients) client.destroy();
  };
  return {
    host: HOST,
    port: address.port,
    drop,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      drop();
      await closed;
    },
  };
}

interface Judges {
  readonly judge: Judge;
  readonly judgeStep: (step: Step) => Verdict;
}

function link(client: Socket, upstream: Socket, { judge, judgeStep }: Judges): void {
  let pending = Buffer.alloc(0);
  let before = Promise.resolve();
  let swallow = false;
  const cut = (): void => {
    client.destroy();
    upstream.destroy();
  };
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true);
    socket.on('error', cut);
    socket.on('close', cut);
  }
  upstream.on('data', (answer) => {
    if (swallow) cut();
    else client.write(answer);
  });
  const pass = async (bytes: Buffer): Promise<void> => {
    pending = Buffer.concat([pending, bytes]);
    for (let packet = nextPacket(pending); packet !== undefined; packet = nextPacket(pending)) {
      pending = pending.subarray(packet.length);
      const sql = statementOf(packet);
      const step = stepOf(packet);
      const verdict = sql === undefined ? (step === undefined ? 'pass' : judgeStep(step)) : await judge(sql);
      if (verdict === 'cut-before') {
        cut();
        return;
      }
      swallow ||= verdict === 'cut-after';
      if (verdict !== 'hold') upstream.write(packet);
    }
  };
  client.on('data', (bytes) => {
    before = before.then(() => pass(bytes)).catch(cut);
  });
}

function nextPacket(bytes: Buffer): Buffer | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const length = HEADER_BYTES + bytes.readUIntLE(0, 3);
  return bytes.length < length ? undefined : bytes.subarray(0, length);
}

function stepOf(packet: Buffer): Step | undefined {
  if (packet[3] !== 0) return undefined;
  const command = packet[HEADER_BYTES];
  return command === COM_STMT_PREPARE ? 'prepare' : command === COM_STMT_EXECUTE ? 'execute' : undefined;
}

/** A command begins with sequence number 0; what comes before the text says that it has no attributes. */
function statementOf(packet: Buffer): string | undefined {
  if (packet[3] !== 0 || packet[HEADER_BYTES] !== COM_QUERY) return undefined;
  let start = HEADER_BYTES + 1;
  while ((packet[start] ?? 0x20) < 0x20) start += 1;
  return packet.subarray(start).toString();
}
