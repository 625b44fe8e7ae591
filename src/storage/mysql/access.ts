// Where a MySQL is, and how a client of it logs in.
import type { SslOptions } from 'mysql2/promise';

/** Encrypted, and only to a server that proves its host name. */
export interface TlsOptions {
  /** PEM of the authorities to trust; those that Node trusts where it is missing. */
  readonly ca?: string;
}

export interface MysqlAccess {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** A function is asked again from time to time and whenever the login is refused, so a secret can be rotated. */
  readonly password: string | (() => string);
  readonly database: string;
  /** Plain text where it is missing. */
  readonly tls?: TlsOptions;
  /** Milliseconds until a connection counts as impossible; 10,000 where it is missing. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds until a server that does not answer counts as hung; 30,000 where it is missing. */
  readonly readTimeoutMs?: number;
  /** Milliseconds a statement waits for the locks of others, in whole seconds; where it is missing 3,000 for rows and 10,000 for tables. */
  readonly lockTimeoutMs?: number;
}

export function passwordOf({ password }: Pick<MysqlAccess, 'password'>): string {
  return typeof password === 'string' ? password : password();
}

/** For the driver; without `verifyIdentity` it would accept the certificate of any host. */
export function sslOptions({ tls }: Pick<MysqlAccess, 'tls'>): { readonly ssl?: SslOptions } {
  if (tls === undefined) return {};
  return { ssl: { ...tls, rejectUnauthorized: true, verifyIdentity: true, minVersion: 'TLSv1.2' } };
}
