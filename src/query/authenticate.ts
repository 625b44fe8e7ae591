// Who asks: passed on by the API server, or by a bearer token that the API server confirms.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { sha256Hex } from '../base/hash.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { BoundedCache } from './bounded-cache.ts';
import { QueryError } from './errors.ts';
import { type FrontProxySettings, userFromFrontProxy } from './front-proxy.ts';
import type { User } from './user.ts';

const tokenReviews: Resource = { group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews' };

export interface AuthenticatorOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly frontProxy: () => FrontProxySettings | undefined;
}

/** Long enough to spare the API server, short enough that a revoked token is refused soon. */
const KEEP_MS = 10_000;
const CAPACITY = 4096;

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #tokens: BoundedCache<User | undefined>;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#tokens = new BoundedCache({ clock: options.clock, capacity: CAPACITY, keepMs: KEEP_MS });
  }

  /** Throws Unauthorized where nobody is behind the request. */
  async authenticate(request: IncomingMessage): Promise<User> {
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
    const user = token === undefined ? undefined : await this.#tokens.get(sha256Hex(token), () => this.#review(token));
    if (user === undefined) {
      throw new QueryError('Unauthorized', 'no valid credentials: send a bearer token, or ask through the API server');
    }
    return user;
  }

  async #review(token: string): Promise<User | undefined> {
    const review = await this.#options.client.create(tokenReviews, '', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token },
    });
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
}
