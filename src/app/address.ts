import { ConfigurationError } from '../config/load.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, `:port` or `[v6]:port`. */
export function parseAddress(path: string, text: string): Address {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new ConfigurationError('address', [{ path, message: `expected host:port, got "${text}"` }]);
  }
  return { host: match[1] ?? (match[2] === '' || match[2] === undefined ? '0.0.0.0' : match[2]), port };
}
