import { isIP } from 'node:net';
import type { Configuration } from './schema.ts';

/** Where passwords and data travel unencrypted to another machine: the key that says so, and that machine. */
export interface ClearText {
  readonly key: string;
  readonly host: string;
}

export function clearText({ metadataStorage, mysql, clone }: Configuration): readonly ClearText[] {
  const ways = [
    ...(metadataStorage.enableMetadataStorage ? [{ key: 'mysql.tlsMode', ...mysql }] : []),
    { key: 'clone.tlsMode', ...clone },
  ];
  return ways
    .filter(({ tlsMode, host }) => tlsMode === 'off' && host !== '' && !isLoopback(host))
    .map(({ key, host }) => ({ key, host }));
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return /^(?:.+\.)?localhost\.?$/i.test(host);
  return host === '::1' || host.startsWith('127.') || host.startsWith('::ffff:127.');
}
