// Loaded before a program of a pod on a process node (node --import): a server that asks for every address of the
// machine gets the pod's own, because two pods may well use the same port.
import { Server } from 'node:net';

const own = process.env['POD_LOOPBACK_ADDRESS'];
const everywhere = new Set<unknown>([undefined, null, '', '0.0.0.0', '::']);

/** The arguments of `listen` with the address of the pod in place of all addresses. */
function placed(args: readonly unknown[], address: string): unknown[] {
  const [first, second, ...others] = args;
  if (typeof first === 'object' && first !== null) {
    const options = first as Readonly<Record<string, unknown>>;
    const network = options['path'] === undefined && options['fd'] === undefined && options['port'] !== undefined;
    return network && everywhere.has(options['host']) ? [{ ...options, host: address }, ...args.slice(1)] : [...args];
  }
  if (typeof first !== 'number' && !(typeof first === 'string' && /^\d+$/.test(first))) return [...args];
  if (typeof second === 'string') return [first, everywhere.has(second) ? address : second, ...others];
  return [first, address, ...args.slice(1)];
}

if (own !== undefined) {
  const listen = Object.getOwnPropertyDescriptor(Server.prototype, 'listen')?.value as (...args: unknown[]) => Server;
  Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
    return listen.apply(this, placed(args, own));
  };
}
