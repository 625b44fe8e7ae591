import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { jsonText } from '../../base/deep-json.ts';
import { messageOf } from '../../base/errors.ts';
import { valueAt } from '../../base/json.ts';
import { type RateLimit, TokenBucket } from '../../base/token-bucket.ts';
import { KubeError, PageTooLargeError, reasonOfStatus } from '../errors.ts';
import { CredentialSource } from './credentials.ts';
import { type KubeconfigSource, openLogin } from './login.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
  readonly bodyTimeoutMs?: number;
}

export interface Answer {
  readonly method: Call['method'];
  /** HTTP status; undefined where no answer came. */
  readonly status: number | undefined;
  /** Until the head of the answer. */
  readonly durationMs: number;
  readonly requestBytes: number;
}

/** Told about every call, for metrics. */
export interface TransportObserver {
  answered(answer: Answer): void;
  /** Milliseconds a call waited for the client's own rate limit. */
  throttled(method: Call['method'], waitedMs: number): void;
  /** A call is sent once more, after an answer with this status. */
  retried(method: Call['method'], status: number): void;
  /** The whole body of an answer has been read; not called for watches. */
  received(method: Call['method'], bytes: number): void;
  /** The name of the server was resolved. */
  resolved(durationMs: number): void;
}

export interface TransportOptions extends KubeconfigSource {
  readonly clock: Clock;
  readonly limit?: RateLimit;
  /** Made for the host and port of the API server. */
  readonly observe?: (host: string) => TransportObserver;
  /** Most connections open at once. */
  readonly connections?: number;
}

export interface Transport {
  /** The body of a successful answer. Everything else is a KubeError. */
  send(call: Call): Promise<Readable>;
  /** Called by the reader of a body when it has read all of it. */
  received?(method: Call['method'], bytes: number): void;
  close(): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 30_000;
const BODY_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 64;
const NO_LIMIT: RateLimit = { perSecond: 0, burst: 0 };
/** Of the explanation of a refusal. */
const REFUSAL_BYTES = 256 * 1024;
const never = new AbortController().signal;

/** One pool of connections for all calls; client-node, left alone, opens a TLS connection per call. */
export class PooledTransport implements Transport {
  readonly #options: TransportOptions;
  readonly #server: string;
  /** For users: the address, and the setting that it comes from. */
  readonly #where: string;
  /** Of the kubeconfig's context, for callers that name none. */
  readonly namespace: string;
  readonly #credentials: CredentialSource;
  readonly #limiter: TokenBucket;
  readonly #observer: TransportObserver | undefined;
  readonly #lookup: LookupFunction;
  #agent: Agent | undefined;
  #agentIdentity = '';

  constructor(options: TransportOptions) {
    this.#options = options;
    const login = openLogin(options);
    this.#server = login.server;
    this.#where = `${login.server}, from ${login.origin}`;
    this.namespace = login.namespace;
    this.#credentials = new CredentialSource(login, options.clock);
    this.#limiter = new TokenBucket(options.limit ?? NO_LIMIT, options.clock);
    this.#observer = options.observe?.(new URL(this.#server).host);
    this.#lookup = timedLookup(options.clock, this.#observer);
  }

  async send(call: Call): Promise<Readable> {
    const waitedMs = await this.#limiter.acquire(call.signal ?? never);
    if (waitedMs > 0) this.#observer?.throttled(call.method, waitedMs);
    let response = await this.#request(call);
    if (response.statusCode === 401) {
      // Tokens rotate: once more with credentials read again.
      await readBody(response.body, { mostBytes: REFUSAL_BYTES }).catch(() => undefined);
      this.#observer?.retried(call.method, response.statusCode);
      this.#credentials.expire();
      response = await this.#request(call);
    }
    const reason = reasonOfStatus(response.statusCode);
    if (reason === undefined) return response.body;
    const retryAfter = Number(response.headers['retry-after']);
    const details = Number.isFinite(retryAfter) ? { retryAfterMs: retryAfter * 1000 } : {};
    const { message = `HTTP ${response.statusCode}`, continueToken } = await statusOf(response);
    throw new KubeError(reason, `${call.method} ${call.path}: ${message}`, {
      ...details,
      status: response.statusCode,
      continueToken,
      said: message,
    });
  }

  received(method: Call['method'], bytes: number): void {
    this.#observer?.received(method, bytes);
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }

  async #request(call: Call): Promise<Dispatcher.ResponseData> {
    const { clock } = this.#options;
    const { method } = call;
    const body = call.body === undefined ? '' : jsonText(call.body);
    const started = clock.monotonicMs();
    let status: number | undefined;
    try {
      const response = await this.#dispatch(call, body);
      status = response.statusCode;
      return response;
    } catch (error) {
      throw unavailable(`${method} ${call.path} at ${this.#where}`, error);
    } finally {
      const durationMs = clock.monotonicMs() - started;
      this.#observer?.answered({ method, status, durationMs, requestBytes: Buffer.byteLength(body) });
    }
  }

  async #dispatch(call: Call, body: string): Promise<Dispatcher.ResponseData> {
    const { identity, tls, headers } = await this.#credentials.get();
    const query = new URLSearchParams(call.query).toString();
    const content = call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' };
    return request(`${this.#server}${call.path}${query === '' ? '' : `?${query}`}`, {
      method: call.method,
      dispatcher: this.#agentFor(identity, tls),
      headers: { ...headers, accept: call.accept ?? 'application/json', ...content },
      body: body === '' ? null : body,
      signal: call.signal ?? null,
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: call.bodyTimeoutMs ?? BODY_TIMEOUT_MS,
    });
  }

  /** A new agent when the TLS material changed; running watches keep the old one until they end. */
  #agentFor(identity: string, tls: object): Agent {
    if (this.#agent === undefined || identity !== this.#agentIdentity) {
      void this.#agent?.close();
      const connections = this.#options.connections ?? MAX_CONNECTIONS;
      const connect = { ...tls, timeout: CONNECT_TIMEOUT_MS, lookup: this.#lookup };
      this.#agent = new Agent({ connect, connections, allowH2: false });
      this.#agentIdentity = identity;
    }
    return this.#agent;
  }
}

/** Only names are looked up; a pod is given an address. */
function timedLookup(clock: Clock, observer: TransportObserver | undefined): LookupFunction {
  return (hostname, options, callback) => {
    const started = clock.monotonicMs();
    lookup(hostname, options, (...answer) => {
      observer?.resolved(clock.monotonicMs() - started);
      callback(...answer);
    });
  };
}

export function unavailable(what: string, cause: unknown): KubeError {
  const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
  return new KubeError('Unavailable', `The Kubernetes API server did not answer (${what})${why}`, { cause });
}

interface Status {
  readonly message?: string;
  readonly continueToken?: string;
}

/** What a Kubernetes Status says; nothing where the body is something else. */
async function statusOf(response: Dispatcher.ResponseData): Promise<Status> {
  const text = await readBody(response.body, { mostBytes: REFUSAL_BYTES }).then(String, () => '');
  try {
    const status: unknown = JSON.parse(text);
    const message = valueAt(status, ['message']);
    const continueToken = valueAt(status, ['metadata', 'continue']);
    return {
      ...(typeof message === 'string' ? { message: message.slice(0, 500) } : {}),
      ...(typeof continueToken === 'string' && continueToken !== '' ? { continueToken } : {}),
    };
  } catch {
    // Proxies and half-started servers answer with plain text; the HTTP status says enough.
    return {};
  }
}

// The whole body of an answer, which must end: a server that sends a byte now and then would be waited for without end.

/** How slowly an answer may come. */
export interface Pace {
  /** Until it has to have come at this pace. */
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

/** Of a poor line over a proxy; a page of the largest size has nine minutes. */
const SLOWEST: Pace = { graceMs: 30_000, bytesPerSecond: 16 * 1024 };

/** Leaving the loop closes the connection, which keeps the rest from coming. A silent server is the connection's to end. */
export async function readBody(
  body: Readable,
  { mostBytes = Number.POSITIVE_INFINITY, pace = SLOWEST }: { readonly mostBytes?: number; readonly pace?: Pace } = {},
): Promise<Buffer> {
  const started = performance.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    if (bytes > mostBytes) throw new PageTooLargeError(mostBytes);
    const tookMs = performance.now() - started;
    if (tookMs > pace.graceMs + (bytes / pace.bytesPerSecond) * 1000) throw tooSlow(bytes, tookMs);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function tooSlow(bytes: number, tookMs: number): KubeError {
  return new KubeError('Unavailable', `only ${bytes} bytes of the answer came in ${Math.round(tookMs / 1000)} s`);
}
