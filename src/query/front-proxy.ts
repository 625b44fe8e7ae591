// The API server passes a user on in headers and proves itself by a client certificate of its own authority. How it
// does both, it publishes in the ConfigMap kube-system/extension-apiserver-authentication.
import type { TLSSocket } from 'node:tls';
import type { KubeClient } from '../kube/client.ts';
import { ifFound } from '../kube/found.ts';
import { configMapRef, dataOf } from '../kube/resources.ts';
import type { User } from './context.ts';

export interface FrontProxySettings {
  readonly caPem: string;
  /** Common names whose certificates may pass users on; empty: every one of the authority. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

/**
 * Every header with its values apart, as `IncomingMessage.headersDistinct` has them. Joined by commas, a group with a
 * comma in its name would read as two groups.
 */
export type DistinctHeaders = Readonly<Record<string, readonly string[] | undefined>>;

const configMap = configMapRef('kube-system', 'extension-apiserver-authentication');

/** Undefined where this API server forwards no users: then only bearer tokens are accepted. */
export async function readFrontProxySettings(client: KubeClient): Promise<FrontProxySettings | undefined> {
  const data = dataOf(await ifFound(client.get(configMap)));
  const caPem = data['requestheader-client-ca-file'] ?? '';
  if (caPem === '') return undefined;
  const names = (key: string): readonly string[] => JSON.parse(data[key] ?? '[]') as readonly string[];
  return {
    caPem,
    allowedNames: names('requestheader-allowed-names'),
    usernameHeaders: names('requestheader-username-headers'),
    groupHeaders: names('requestheader-group-headers'),
    uidHeaders: names('requestheader-uid-headers'),
    extraHeaderPrefixes: names('requestheader-extra-headers-prefix'),
  };
}

/**
 * The user in the headers, or undefined where the connection is not the API server's. The socket must have been
 * accepted with `ca: settings.caPem`, so that `authorized` means a certificate of that authority.
 */
export function userFromFrontProxy(
  socket: Pick<TLSSocket, 'authorized' | 'getPeerCertificate'>,
  headers: DistinctHeaders,
  settings: FrontProxySettings,
): User | undefined {
  if (!socket.authorized || !isAllowed(socket.getPeerCertificate().subject.CN, settings)) return undefined;
  const name = firstOf(headers, settings.usernameHeaders);
  if (name === undefined || name === '') return undefined;
  return {
    name,
    uid: firstOf(headers, settings.uidHeaders) ?? '',
    groups: settings.groupHeaders.flatMap((header) => valuesOf(headers, header)),
    extra: extraOf(headers, settings.extraHeaderPrefixes),
  };
}

/** A certificate with several common names is not one that the API server shows. */
function isAllowed(commonName: unknown, { allowedNames }: FrontProxySettings): boolean {
  return allowedNames.length === 0 || (typeof commonName === 'string' && allowedNames.includes(commonName));
}

function firstOf(headers: DistinctHeaders, names: readonly string[]): string | undefined {
  return names.flatMap((name) => valuesOf(headers, name))[0];
}

function valuesOf(headers: DistinctHeaders, name: string): readonly string[] {
  return headers[name.toLowerCase()] ?? [];
}

function extraOf(headers: DistinctHeaders, prefixes: readonly string[]): User['extra'] {
  const lower = prefixes.map((prefix) => prefix.toLowerCase());
  const entries = Object.keys(headers).flatMap((header) => {
    const prefix = lower.find((candidate) => header.startsWith(candidate));
    if (prefix === undefined) return [];
    return [[unescapeKey(header.slice(prefix.length)), valuesOf(headers, header)] as const];
  });
  return Object.fromEntries(entries);
}

/** Keys of `extra` are percent-encoded, because not every character may stand in the name of a header. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
