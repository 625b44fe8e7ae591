import type { KubernetesObject } from '../api/object.ts';

const CHANNEL_BUFFER = 1024;

/**
 * Carries objects to the channel sources that read it, each of which gets every object. Until the first source starts,
 * objects are buffered; when the buffer is full, senders wait.
 */
export class EventChannel {
  readonly #capacity: number;
  readonly #buffer: KubernetesObject[] = [];
  readonly #senders: { readonly object: KubernetesObject; readonly accepted: () => void }[] = [];
  readonly #readers = new Set<(object: KubernetesObject) => void>();
  #closed = false;

  constructor(capacity: number = CHANNEL_BUFFER) {
    this.#capacity = capacity;
  }

  /** Resolves when the object is delivered or buffered. What is sent after `close` is dropped. */
  send(object: KubernetesObject): Promise<void> {
    if (this.#closed) return Promise.resolve();
    if (this.#readers.size > 0) {
      this.#deliver(object);
      return Promise.resolve();
    }
    if (this.#buffer.length < this.#capacity) {
      this.#buffer.push(object);
      return Promise.resolve();
    }
    return new Promise((accepted) => this.#senders.push({ object, accepted }));
  }

  /** Accepts nothing more; what is buffered is still delivered. */
  close(): void {
    this.#closed = true;
    for (const { accepted } of this.#senders.splice(0)) accepted();
  }

  /** Starts with what is buffered. The returned function ends the subscription. */
  subscribe(reader: (object: KubernetesObject) => void): () => void {
    this.#readers.add(reader);
    for (const object of this.#buffer.splice(0)) this.#deliver(object);
    for (const { object, accepted } of this.#senders.splice(0)) {
      this.#deliver(object);
      accepted();
    }
    return () => this.#readers.delete(reader);
  }

  #deliver(object: KubernetesObject): void {
    for (const reader of this.#readers) reader(object);
  }
}
