import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { CodedError } from '../../src/base/errors.ts';

// Below the range from which Linux takes the ports of outgoing connections: while a server restarts, no such
// connection can take its port away.
const lowest = 15_000;
const beyondHighest = 32_000;
const attempts = 50;

/** A loopback TCP port that was free a moment ago. Another process may still take it first: starters retry. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = randomInt(lowest, beyondHighest);
    if (await isFree(port)) return port;
  }
  throw new CodedError('LOCAL_NO_FREE_PORT', `No free port found on 127.0.0.1 after ${attempts} tries.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}
