// Addresses of one node. To the cluster a pod is known by an address of a documentation range, because the API server
// refuses loopback addresses in endpoints. In reality its ports are on a loopback address of its own with the same last
// number: Linux lets every program bind any address in 127/8, so pods do not share ports.
import { CodedError } from '../../../src/base/errors.ts';

/** Annotation of the Node with the first three numbers of the loopback addresses of its pods. */
export const LOOPBACK_ANNOTATION = 'process-node.local/loopback';
const ownOctet = 1;
const lastOctet = 254;

export class AddressPool {
  readonly #prefix: string;
  readonly #loopbackPrefix: string;
  /** Who holds each number. */
  readonly #holders = new Map<number, string>([[ownOctet, 'node']]);
  #last = ownOctet;

  constructor(prefix: string, loopbackPrefix: string) {
    this.#prefix = prefix;
    this.#loopbackPrefix = loopbackPrefix;
  }

  get hostIP(): string {
    return this.addressOf(ownOctet);
  }

  addressOf(octet: number): string {
    return `${this.#prefix}.${octet}`;
  }

  loopbackOf(octet: number): string {
    return `${this.#loopbackPrefix}.${octet}`;
  }

  /** One that has been free for as long as possible, so that no client finds a new pod behind an old address. */
  next(holder: string): number {
    for (let tried = 0; tried < lastOctet; tried += 1) {
      this.#last = this.#last >= lastOctet ? ownOctet + 1 : this.#last + 1;
      if (this.#holders.has(this.#last)) continue;
      this.#holders.set(this.#last, holder);
      return this.#last;
    }
    throw new CodedError('LOCAL_NODE_FULL', 'The process node has no address left for another pod.', { retry: 'yes' });
  }

  take(octet: number, holder: string): void {
    this.#holders.set(octet, holder);
  }

  release(octet: number, holder: string): void {
    if (this.#holders.get(octet) === holder) this.#holders.delete(octet);
  }
}

/** The loopback address behind an address of the range. */
export function loopbackBehind(address: string, loopbackPrefix: string): string {
  return `${loopbackPrefix}.${address.split('.').at(-1) ?? ''}`;
}
