// The connections of one generation: made with the same password to the same server, and closed together.
import type { Socket } from 'node:net';
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise';
import { type MysqlAccess, sslOptions } from './access.ts';
import { Calls, hangUpLater, socketOf } from './deadline.ts';

export interface GenerationOptions extends MysqlAccess {
  readonly maxOpenConns: number;
  readonly maxIdleConns: number;
  readonly readTimeoutMs: number;
}

/** Connections that were made with the same password to the same server. */
export interface Generation {
  readonly pool: Pool;
  /** One connection more, made when it is needed, by which statements on the others are ended. */
  readonly killer: Pool;
  readonly password: string;
  /** Of the connections that were made and are not closed yet. */
  readonly sockets: Set<Socket>;
  /** Connections in use or asked for. */
  users: number;
}

/** A server that is there answers in a second; one behind a connection that is lost never does. */
export const CONNECT_TIMEOUT_MS = 10_000;
const KILLER_IDLE_MS = 10_000;
/** How long a pool has to close its connections. */
const CLOSE_MS = 1000;

export function newGeneration(options: GenerationOptions, password: string): Generation {
  const { maxOpenConns: connectionLimit, maxIdleConns: maxIdle, readTimeoutMs } = options;
  const sockets = new Set<Socket>();
  const open = (size: PoolSize): Pool => newPool(options, password, size, sockets);
  const pool = open({ connectionLimit, maxIdle, idleTimeout: 2 * readTimeoutMs });
  const killer = open({ connectionLimit: 1, maxIdle: 0, idleTimeout: KILLER_IDLE_MS });
  return { pool, killer, password, sockets, users: 0 };
}

type PoolSize = Pick<PoolOptions, 'connectionLimit' | 'maxIdle' | 'idleTimeout'>;

function newPool(options: MysqlAccess, password: string, size: PoolSize, sockets: Set<Socket>): Pool {
  const pool = createPool({
    host: options.host,
    port: options.port,
    user: options.user,
    password,
    database: options.database,
    ...sslOptions(options),
    ...size,
    connectTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    enableKeepAlive: true,
    charset: 'utf8mb4_bin',
    timezone: 'Z',
    dateStrings: true,
    jsonStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    rowsAsArray: true,
    // The driver's default counts matched rows; then an upsert that changed nothing looks like an insert.
    flags: ['-FOUND_ROWS'],
    maxPreparedStatements: 400,
    // A stack recorded for each statement costs more than sending a small one.
    trace: false,
  });
  pool.on('connection', (connection) => {
    const socket = socketOf(connection);
    if (socket === undefined) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return pool;
}

/**
 * Its connections may be broken already, and no call waits for them; a server that does not answer is given up after a
 * while.
 */
export async function endQuietly({ pool, killer, sockets }: Generation): Promise<void> {
  const calls = new Calls();
  const ended = Promise.all([pool.end(), killer.end()]);
  await calls.answered(ended, CLOSE_MS, () => undefined).catch(() => undefined);
  for (const socket of sockets) hangUpLater(socket);
}
