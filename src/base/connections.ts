// The connections of an HTTPS server, and how they end. A client that keeps connections may send a request at the moment
// in which the server closes one; Go gives up a POST that it has begun to write (docs/adr/0057-farewell-to-idle-connections.md).
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** The answer to a request that may be on its way: come again, at once, on another connection. */
const FAREWELL = [
  'HTTP/1.1 503 Service Unavailable',
  'Retry-After: 0',
  'Content-Length: 0',
  'Connection: close',
  '',
  '',
].join('\r\n');

export class Connections {
  readonly #open = new Set<Socket>();
  readonly #busy = new Set<Socket>();
  #ending = false;
  #count = 0;

  /** How many there have been. */
  get count(): number {
    return this.#count;
  }

  opened(socket: Socket): void {
    this.#count += 1;
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    if (this.#ending) this.#farewell(socket);
  }

  /** The handler, asked only for requests whose answer can still be sent. */
  handling(handler: RequestListener): RequestListener {
    return (request, response) => {
      const { socket } = request;
      if (socket.writableEnded) {
        request.resume();
        return;
      }
      this.#busy.add(socket);
      if (this.#ending) response.setHeader('Connection', 'close');
      response.once('close', () => {
        this.#busy.delete(socket);
        if (this.#ending) this.#farewell(socket);
      });
      handler(request, response);
    };
  }

  /** Says farewell on each as soon as nothing is being answered on it; the client closes it then. */
  end(): void {
    this.#ending = true;
    for (const socket of this.#open) this.#farewell(socket);
  }

  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #farewell(socket: Socket): void {
    if (!this.#busy.has(socket) && !socket.writableEnded) socket.end(FAREWELL);
  }
}
