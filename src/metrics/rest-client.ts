import { Counter, Histogram, type Registry } from 'prom-client';

const TIME_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const SIZE_BUCKETS = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

export interface RestRequest {
  /** HTTP method, as in GET. */
  readonly method: string;
  readonly host: string;
}

export interface RestResponse {
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  /** From the request until the head of the answer. */
  readonly seconds: number;
  readonly requestBytes: number;
}

/** What the client of the API server does. Requests are told apart by method, never by path. */
export class RestClientMetrics {
  readonly #requests: Counter<'code' | 'method' | 'host'>;
  readonly #retries: Counter<'code' | 'verb' | 'host'>;
  readonly #seconds: Histogram<'verb' | 'host'>;
  readonly #throttled: Histogram<'verb' | 'host'>;
  readonly #requestBytes: Histogram<'verb' | 'host'>;
  readonly #responseBytes: Histogram<'verb' | 'host'>;
  readonly #resolution: Histogram<'host'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const histogram = (name: string, help: string, buckets: number[]): Histogram<'verb' | 'host'> =>
      new Histogram({ name: `rest_client_${name}`, help, labelNames: ['verb', 'host'], buckets, registers });
    this.#requests = new Counter({
      name: 'rest_client_requests_total',
      help: 'Number of HTTP requests, partitioned by status code, method, and host',
      labelNames: ['code', 'method', 'host'],
      registers,
    });
    this.#retries = new Counter({
      name: 'rest_client_request_retries_total',
      help: 'Number of request retries, partitioned by status code, verb, and host',
      labelNames: ['code', 'verb', 'host'],
      registers,
    });
    this.#seconds = histogram('request_duration_seconds', 'Request latency in seconds', TIME_BUCKETS);
    this.#throttled = histogram(
      'rate_limiter_duration_seconds',
      'Time in seconds that requests waited for the client-side rate limiter',
      TIME_BUCKETS,
    );
    this.#requestBytes = histogram('request_size_bytes', 'Request size in bytes', SIZE_BUCKETS);
    this.#resolution = new Histogram({
      name: 'rest_client_dns_resolution_duration_seconds',
      help: 'DNS resolver latency in seconds',
      labelNames: ['host'],
      buckets: TIME_BUCKETS,
      registers,
    });
    this.#responseBytes = histogram('response_size_bytes', 'Response size in bytes', SIZE_BUCKETS);
  }

  /** Makes the series of a server exist before its first request. */
  watch(host: string): void {
    this.#resolution.zero({ host });
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const labels = { verb: method, host };
      this.#requests.inc({ code: '200', method, host }, 0);
      this.#retries.inc({ code: '401', ...labels }, 0);
      for (const each of [this.#seconds, this.#throttled, this.#requestBytes, this.#responseBytes]) each.zero(labels);
    }
  }

  answered({ method, host }: RestRequest, response: RestResponse): void {
    const labels = { verb: method, host };
    this.#requests.inc({ code: codeOf(response.status), method, host });
    this.#seconds.observe(labels, response.seconds);
    this.#requestBytes.observe(labels, response.requestBytes);
  }

  /** The body of an answer; streams have none. */
  received({ method, host }: RestRequest, bytes: number): void {
    this.#responseBytes.observe({ verb: method, host }, bytes);
  }

  resolved(host: string, seconds: number): void {
    this.#resolution.observe({ host }, seconds);
  }

  retried({ method, host }: RestRequest, status: number): void {
    this.#retries.inc({ code: String(status), verb: method, host });
  }

  throttled({ method, host }: RestRequest, seconds: number): void {
    this.#throttled.observe({ verb: method, host }, seconds);
  }
}

/** As client-go writes it for a request without an answer. */
function codeOf(status: number | undefined): string {
  return status === undefined ? '<error>' : String(status);
}
