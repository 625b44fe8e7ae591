// Every call to the server has a deadline of ours. The driver's own begins when a statement is executed, so one that is
// never prepared, and a connection that is never closed, would be waited for without end; and its COM_QUIT to a server
// that says nothing more keeps the socket.
import type { Socket } from 'node:net';
import { systemClock } from '../../base/clock.ts';

/** How long a server has to close the connection after COM_QUIT. */
const QUIT_MS = 1000;

/** No error of the server: the connection is lost. */
export class NoAnswer extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'NoAnswer';
  }
}

/** Calls under way. Networks know no other clock than the real one. */
export class Calls {
  readonly #breakOff = new Set<(why: NoAnswer) => void>();

  /** The answer, or NoAnswer after the time; then `giveUp` was called, and what the call still brings is ignored. */
  async answered<T>(call: Promise<T>, limitMs: number, giveUp: () => void): Promise<T> {
    const over = Promise.withResolvers<never>();
    const end = (why: NoAnswer): void => {
      giveUp();
      over.reject(why);
    };
    const cancel = systemClock.schedule(limitMs, () => end(new NoAnswer(`no answer within ${limitMs} ms`)));
    this.#breakOff.add(end);
    try {
      return await Promise.race([call, over.promise]);
    } finally {
      cancel();
      this.#breakOff.delete(end);
    }
  }

  /** Ends every call that is under way. */
  breakOff(why: string): void {
    for (const end of [...this.#breakOff]) end(new NoAnswer(why));
  }
}

/** The driver gives it no type; under TLS it is the encrypted one. */
export function socketOf(connection: unknown): Socket | undefined {
  return (connection as { readonly stream?: Socket }).stream;
}

/** At once, whether or not the server would answer. */
export function hangUp(connection: { destroy(): void }): void {
  connection.destroy();
  socketOf((connection as { readonly connection?: unknown }).connection)?.destroy();
}

/** Ends a socket some time after a COM_QUIT that was not answered. */
export function hangUpLater(socket: Socket): void {
  if (socket.destroyed) return;
  const cancel = systemClock.schedule(QUIT_MS, () => socket.destroy());
  socket.once('close', cancel);
}
