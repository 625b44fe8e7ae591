import { createSecureContext } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { canonicalJson } from '../../base/json.ts';
import { KubeconfigError } from '../errors.ts';
import type { Login, LoginData, TlsMaterial } from './login.ts';

/** `identity` changes whenever the TLS material does. */
export interface Credentials extends LoginData {
  readonly identity: string;
}

/** Tokens and certificates rotate: they are read again after this long, and after a refusal. */
const FRESH_MS = 30_000;
/** What could not be read again is tried again after this long; meanwhile the last ones stay in use. */
const AGAIN_MS = 1000;

/** Credentials that follow their files. */
export class CredentialSource {
  readonly #login: Login;
  readonly #clock: Clock;
  #current: Promise<Credentials> | undefined;
  #freshUntilMs = 0;

  constructor(login: Login, clock: Clock) {
    this.#login = login;
    this.#clock = clock;
  }

  get(): Promise<Credentials> {
    const last = this.#current;
    if (last === undefined) return this.#start(this.#read(undefined));
    if (this.#clock.monotonicMs() <= this.#freshUntilMs) return last;
    return this.#start(
      last.then((credentials) =>
        this.#read(credentials).catch(() => {
          // A certificate is replaced before its key, or a folder is away for a moment.
          this.#freshUntilMs = this.#clock.monotonicMs() + AGAIN_MS;
          return credentials;
        }),
      ),
    );
  }

  /** The server refused them: the next call reads them again, and fails where they cannot be read. */
  expire(): void {
    this.#current = undefined;
  }

  #start(reading: Promise<Credentials>): Promise<Credentials> {
    this.#freshUntilMs = this.#clock.monotonicMs() + FRESH_MS;
    this.#current = reading;
    reading.catch(() => {
      if (this.#current === reading) this.#current = undefined;
    });
    return reading;
  }

  async #read(last: Credentials | undefined): Promise<Credentials> {
    const { tls, headers } = await this.#login.read();
    const identity = canonicalJson(tls);
    if (identity !== last?.identity) proveUsable(tls);
    return { tls, headers, identity };
  }
}

/** Throws where a text is no PEM, or a certificate and a key do not belong together. OpenSSL's words hold no key. */
function proveUsable({ ca, cert, key }: TlsMaterial): void {
  try {
    createSecureContext({ ca, cert, key });
  } catch (error) {
    throw new KubeconfigError(`the certificates cannot be used: ${messageOf(error)}`);
  }
}
