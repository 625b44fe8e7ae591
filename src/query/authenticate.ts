// The user of a request: passed on by the API server, or by a bearer token that the API server confirms.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { sha256Hex } from '../base/hash.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import { RateLimits } from '../base/rate-limits.ts';
import { tokenReviews } from '../kube/resources.ts';
import { BoundedCache } from './bounded-cache.ts';
import type { User } from './context.ts';
import { QueryError } from './errors.ts';
import { type FrontProxySettings, userFromFrontProxy } from './front-proxy.ts';
import type { Questions } from './questions.ts';

export interface AuthenticatorOptions {
  readonly questions: Pick<Questions, 'ask'>;
  readonly clock: Clock;
  readonly frontProxy: () => FrontProxySettings | undefined;
  /** How long a token that is good, or is not, counts as that; 10 seconds unless given. */
  readonly keepMs?: number;
}

/** Long enough to spare the API server, short enough that a revoked token is refused soon. */
const KEEP_MS = 10_000;
const CAPACITY = 4096;
/** Rate of tokens from one address that were not seen before. A valid one does not count. */
const STRANGERS = { perSecond: 4, burst: 64 };

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  /** Of tokens that are good; whatever else is sent, they stay. */
  readonly #users: BoundedCache<User>;
  readonly #refused: BoundedCache<'refused'>;
  /** Digests of tokens that were good when they were last asked about; the one used last comes last. */
  readonly #known = new Set<string>();
  readonly #strangers: RateLimits;

  constructor(options: AuthenticatorOptions) {
    const { clock, keepMs = KEEP_MS } = options;
    this.#options = options;
    this.#users = new BoundedCache({ clock, capacity: CAPACITY, keepMs });
    this.#refused = new BoundedCache({ clock, capacity: CAPACITY, keepMs });
    this.#strangers = new RateLimits({ clock, ...STRANGERS });
  }

  /** Throws Unauthorized where the request has no user. */
  async authenticate(request: IncomingMessage, signal: AbortSignal): Promise<User> {
    const settings = this.#options.frontProxy();
    const { socket, headersDistinct } = request;
    const passedOn =
      settings === undefined || !(socket instanceof TLSSocket)
        ? undefined
        : userFromFrontProxy(socket, headersDistinct, settings);
    if (passedOn !== undefined) return passedOn;
    if (Object.keys(request.headers).some((header) => header.startsWith('impersonate-'))) {
      throw new QueryError('Forbidden', 'impersonation is the work of the API server: send this request through it');
    }
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw unauthorized();
    return this.#userOf(token, socket.remoteAddress ?? '', signal);
  }

  async #userOf(token: string, from: string, signal: AbortSignal): Promise<User> {
    const digest = sha256Hex(token);
    if (this.#refused.has(digest)) throw unauthorized();
    // Before it takes the place of one that is good.
    const stranger = !this.#users.has(digest) && !this.#known.has(digest);
    const wait = stranger ? this.#strangers.take(from) : undefined;
    if (wait !== undefined) throw tooManyStrangers(wait);
    return this.#users.get(digest, (waited) => this.#ask({ token, digest, from }, waited), signal);
  }

  async #ask({ token, digest, from }: Shown, signal: AbortSignal): Promise<User> {
    const known = this.#known.has(digest);
    const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const review = await this.#options.questions.ask(
      { asker: known ? `token ${digest}` : `address ${from}`, resource: tokenReviews, object },
      signal,
    );
    const user = userIn(review);
    if (user === undefined) {
      this.#known.delete(digest);
      this.#refused.set(digest, 'refused');
      throw unauthorized();
    }
    if (!known) this.#strangers.giveBack(from);
    this.#remember(digest);
    return user;
  }

  #remember(digest: string): void {
    this.#known.delete(digest);
    this.#known.add(digest);
    const [longestAgo] = this.#known;
    if (this.#known.size > CAPACITY && longestAgo !== undefined) this.#known.delete(longestAgo);
  }
}

interface Shown {
  readonly token: string;
  readonly digest: string;
  /** The address that it came from. */
  readonly from: string;
}

function userIn(review: object): User | undefined {
  if (valueAt(review, ['status', 'authenticated']) !== true) return undefined;
  const user = valueAt(review, ['status', 'user']);
  if (!isJsonObject(user) || typeof user['username'] !== 'string') return undefined;
  const { username, uid, groups, extra } = user;
  return {
    name: username,
    uid: typeof uid === 'string' ? uid : '',
    groups: (groups ?? []) as readonly string[],
    extra: (extra ?? {}) as User['extra'],
  };
}

function unauthorized(): QueryError {
  return new QueryError('Unauthorized', 'no valid credentials: send a bearer token, or ask through the API server');
}

function tooManyStrangers(wait: number): QueryError {
  return new QueryError('TooManyRequests', 'too many unknown tokens come from this address; try again', {
    retryAfterSeconds: Math.ceil(wait),
  });
}
