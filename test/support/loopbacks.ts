import { networkInterfaces } from 'node:os';

/** The loopback addresses of this machine: that of IPv4, and that of IPv6 where it has one. */
export function loopbacks(): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((of) => of ?? []);
  return ['127.0.0.1', ...(addresses.some(({ address }) => address === '::1') ? ['::1'] : [])];
}
