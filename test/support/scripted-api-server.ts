// An API server of one resource that misbehaves on command, below the client: it answers in bytes, and loses, repeats,
// exchanges, delays and tears them.
import { Readable } from 'node:stream';
import { KubeError } from '../../src/kube/errors.ts';
import type { Call, Transport } from '../../src/kube/http/transport.ts';

interface ScriptedObject {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

interface Change {
  readonly version: number;
  readonly line: string;
}

interface Stream {
  readonly body: Readable;
  /** Lines that were not sent yet. */
  readonly pending: string[];
  /** Lines that were. */
  readonly sent: string[];
}

export class ScriptedApiServer implements Transport {
  readonly objects: Map<string, ScriptedObject> = new Map<string, ScriptedObject>();
  readonly #history: Change[] = [];
  /** What lists show, by their version. */
  readonly #listed = new Map<number, readonly ScriptedObject[]>();
  readonly #refusals: KubeError[] = [];
  #stream: Stream | undefined;
  #version = 1;
  #uids = 0;
  #oldest = 0;
  /** Versions went to the client in another order than they came to be. */
  #exchanged = false;

  put(name: string): void {
    const known = this.objects.get(name);
    const version = (this.#version += 1);
    const uid = known?.uid ?? `uid-${(this.#uids += 1)}`;
    const object = { name, uid, resourceVersion: String(version) };
    this.objects.set(name, object);
    this.#record(known === undefined ? 'ADDED' : 'MODIFIED', object);
  }

  delete(name: string): void {
    const known = this.objects.get(name);
    if (known === undefined) return;
    this.objects.delete(name);
    const version = (this.#version += 1);
    this.#record('DELETED', { ...known, resourceVersion: String(version) });
  }

  /** Sends what is pending, torn into pieces of this many bytes. */
  flush(pieceBytes: number): void {
    this.#send(Number.POSITIVE_INFINITY, pieceBytes);
  }

  /** Sends again what was sent, counted from the last. */
  repeat(back: number): void {
    const line = this.#stream?.sent.at(-1 - back);
    if (line !== undefined) this.#stream?.pending.push(line);
  }

  /** Exchanges the last two pending events. */
  exchange(): void {
    const pending = this.#stream?.pending ?? [];
    const [last, previous] = [pending.pop(), pending.pop()];
    if (last !== undefined) pending.push(last);
    if (previous !== undefined) pending.push(previous);
    this.#exchanged = true;
  }

  bookmark(): void {
    this.#stream?.pending.push(bookmarkLine(this.#version));
  }

  /** Sends so many bytes of what is pending and breaks the connection. */
  cut(bytes: number): void {
    const body = this.#stream?.body;
    this.#send(bytes, bytes);
    this.#stream = undefined;
    // After an order that no API server has, only a list can tell what was lost.
    if (this.#exchanged) this.expire();
    setImmediate(() => body?.destroy(new KubeError('Unavailable', 'connection reset')));
  }

  /** Ends the watch as its timeout does. */
  endWatch(): void {
    this.flush(100);
    this.#stream?.body.push(null);
    this.#stream = undefined;
  }

  /** Forgets the history: the watch ends with an ERROR event, and an older one is refused. */
  expire(): void {
    // What went out of order may have had the newest version, and then that one is too old as well.
    if (this.#exchanged) this.#version += 1;
    this.#oldest = this.#version;
    this.#exchanged = false;
    if (this.#stream === undefined) return;
    this.#stream.pending.length = 0;
    const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
    this.#stream.pending.push(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
    this.flush(1000);
    this.#stream = undefined;
  }

  /** Refuses nothing any more. A list is asked for only where nothing else can tell what was lost. */
  comeToRest(): void {
    this.#refusals.length = 0;
    if (this.#exchanged) this.expire();
  }

  refuse(error: KubeError, times: number): void {
    for (let count = 0; count < times; count += 1) this.#refusals.push(error);
  }

  send(call: Call): Promise<Readable> {
    const refusal = this.#refusals.shift();
    if (refusal !== undefined) return Promise.reject(refusal);
    if (call.query?.['watch'] !== 'true') return this.#list(call.query ?? {});
    const from = Number(call.query['resourceVersion']);
    if (from < this.#oldest) return Promise.reject(new KubeError('Expired', 'too old'));
    return Promise.resolve(this.#watch(from, call.signal));
  }

  close(): Promise<void> {
    this.#stream?.body.destroy();
    return Promise.resolve();
  }

  /** In pages of one object, all of the state at the first one, until that expires. */
  #list(query: Readonly<Record<string, string>>): Promise<Readable> {
    const [version, offset] = (query['continue'] ?? `${this.#version} 0`).split(' ').map(Number) as [number, number];
    if (version < this.#oldest) return Promise.reject(new KubeError('Expired', 'the continue token is too old'));
    if (offset === 0) this.#listed.set(version, [...this.objects.values()]);
    const all = this.#listed.get(version) ?? [];
    const items = all.slice(offset, offset + 1).map(bodyOf);
    const more = offset + 1 < all.length ? { continue: `${version} ${offset + 1}` } : {};
    const list = { metadata: { resourceVersion: String(version), ...more }, items };
    return Promise.resolve(Readable.from([Buffer.from(JSON.stringify(list))]));
  }

  #watch(from: number, signal: AbortSignal | undefined): Readable {
    const body = new Readable({ read: () => undefined });
    signal?.addEventListener('abort', () => body.destroy(new KubeError('Unavailable', 'aborted')), { once: true });
    const pending = this.#history.filter(({ version }) => version > from).map((change) => change.line);
    this.#stream = { body, pending, sent: [] };
    this.#exchanged = false;
    return body;
  }

  #record(type: string, object: ScriptedObject): void {
    const change = { version: this.#version, line: line(type, object) };
    this.#history.push(change);
    this.#stream?.pending.push(change.line);
  }

  #send(limitBytes: number, pieceBytes: number): void {
    if (this.#stream === undefined) return;
    const { body, pending, sent } = this.#stream;
    const bytes = Buffer.from(pending.join(''));
    const end = Math.min(bytes.length, limitBytes);
    for (let at = 0; at < end; at += pieceBytes) body.push(bytes.subarray(at, Math.min(at + pieceBytes, end)));
    sent.push(...pending.splice(0));
  }
}

function bodyOf({ name, uid, resourceVersion }: ScriptedObject): object {
  return {
    apiVersion: 'michelangelo.api/v2',
    kind: 'Model',
    metadata: { managedFields: [{ manager: 'm' }], name, namespace: 'ns', resourceVersion, uid },
    spec: { description: `größer ${name}` },
  };
}

function line(type: string, object: ScriptedObject): string {
  return `${JSON.stringify({ type, object: bodyOf(object) })}\n`;
}

function bookmarkLine(version: number): string {
  const metadata = { resourceVersion: String(version) };
  return `${JSON.stringify({ type: 'BOOKMARK', object: { kind: 'Model', metadata } })}\n`;
}
