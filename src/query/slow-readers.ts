// Readers that take nothing. What an answer holds (a place, a page of objects, a connection to the database) is for
// readers: one that leaves it lying is cut off, long before the answer may take no more time.
import type { RequestHandler } from 'express';
import type { Clock } from '../base/clock.ts';

/**
 * Answers are written in pieces of 64 KiB, so this is as slow as a reader may be: a piece in ten seconds. It is found
 * within twice that.
 */
const LOOK_MS = 10_000;

/** Ends the connection of a reader that has not taken a byte from one look to the next, though there was one. */
export function cutSlowReaders(clock: Clock): RequestHandler {
  return (request, response, next) => {
    const { socket } = request;
    const taken = (): number => socket.bytesWritten - socket.writableLength;
    let before: number | undefined;
    let cancel: () => void;
    const look = (): void => {
      const now = response.writableLength > 0 ? taken() : undefined;
      if (now !== undefined && now === before) {
        socket.destroy();
        return;
      }
      before = now;
      cancel = clock.schedule(LOOK_MS, look);
    };
    cancel = clock.schedule(LOOK_MS, look);
    response.once('close', () => cancel());
    next();
  };
}
