// Asking the query API, as the user of the browser.

const API = 'apis/stored.michelangelo.api/v2';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

export class ApiError extends Error {
  /** Of HTTP; 0 where no answer came. */
  readonly status: number;
  /** Who said it: the API, or something before it, such as a proxy that only reads. */
  readonly from: 'api' | 'before';

  constructor(status: number, message: string, from: 'api' | 'before' = 'api') {
    super(message);
    this.status = status;
    this.from = from;
  }
}

export interface Answer<T> {
  readonly text: string;
  readonly document: T;
  /** How far behind the store is, in seconds. */
  readonly lag: number | undefined;
}

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly as?: 'object' | 'table';
  /** A deletion is of this object only. */
  readonly uid?: string;
  /** Ends the request when its answer is not wanted any more. */
  readonly signal?: AbortSignal;
}

/** Throws ApiError; an aborted request throws what `fetch` throws. */
export type Api = <T>(path: string, asked?: Asked) => Promise<Answer<T>>;

/** Asks below `root`; `headers` say who asks, `cluster` of which cluster: undefined for that of the API. */
export function createApi(root: string, headers: () => Readonly<Record<string, string>>, cluster?: string): Api {
  const ofCluster = (path: string): string =>
    cluster === undefined
      ? path
      : `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ cluster }).toString()}`;
  return async <T>(path: string, { method = 'GET', as = 'object', signal, uid }: Asked = {}): Promise<Answer<T>> => {
    const accept = as === 'table' ? TABLE : 'application/json';
    const content = uid === undefined ? {} : { preconditions: { uid } };
    const body = method === 'GET' ? {} : { body: JSON.stringify(content) };
    const type = method === 'GET' ? {} : { 'Content-Type': 'application/json' };
    const answer = await fetch(`${root}${API}${ofCluster(path)}`, {
      method,
      ...body,
      headers: { Accept: accept, ...type, ...headers() },
      signal: signal ?? null,
    }).catch((error: unknown) => {
      throw signal?.aborted === true ? error : new ApiError(0, 'The query API does not answer.');
    });
    const text = await answer.text();
    if (!answer.ok) throw refusalOf(text, answer.status);
    const lag = answer.headers.get('Ingester-Lag-Seconds');
    return { text, document: JSON.parse(text) as T, lag: lag === null ? undefined : Number(lag) };
  };
}

function refusalOf(text: string, status: number): ApiError {
  try {
    const { message } = JSON.parse(text) as { readonly message?: string };
    if (message !== undefined) return new ApiError(status, message);
  } catch {
    // No Status of Kubernetes: something else answered.
  }
  const message = status === 403 ? 'This is not permitted here (HTTP 403).' : `HTTP ${status}`;
  return new ApiError(status, message, 'before');
}
