import type { KubernetesObject } from '../../api/object.ts';
import type { Clock } from '../../base/clock.ts';
import { canonicalJson } from '../../base/json.ts';
import type { ResourceHandler } from '../../kube/handler.ts';
import { isNewer } from '../../kube/resource-version.ts';
import type { KnownObject } from '../../kube/watched-object.ts';
import { type LeaseRecord, leaseRecord } from '../lease.ts';

export interface SeenLease {
  readonly lease: KubernetesObject;
  readonly record: LeaseRecord;
  readonly raw: string;
  /** When this process saw the record become what it is, on its monotonic clock. */
  readonly sinceMs: number;
}

/** The Leases as this process last saw them: by its watch, and in the answers to its own writes. */
export class LeaseBoard implements ResourceHandler {
  readonly #clock: Clock;
  readonly #names: ReadonlySet<string>;
  readonly #onChange: () => void;
  readonly #seen = new Map<string, SeenLease>();
  readonly #absentSinceMs = new Map<string, number>();

  constructor(clock: Clock, names: Iterable<string>, onChange: () => void) {
    this.#clock = clock;
    this.#names = new Set(names);
    this.#onChange = onChange;
  }

  get(name: string): SeenLease | undefined {
    return this.#seen.get(name);
  }

  /** For how long the Lease is known not to be there; 0 where it is. */
  absentMs(name: string): number {
    if (this.#seen.has(name)) return 0;
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#absentSinceMs.get(name) ?? nowMs;
    this.#absentSinceMs.set(name, sinceMs);
    return nowMs - sinceMs;
  }

  /** For how long the Lease has not changed. */
  unchangedMs({ sinceMs }: SeenLease): number {
    return this.#clock.monotonicMs() - sinceMs;
  }

  /** What a write or the watch has brought; what is older than what is known is nothing new. */
  see(lease: KubernetesObject): void {
    const { name, resourceVersion } = lease.metadata;
    const known = this.#seen.get(name);
    if (known !== undefined && isNewer(known.lease.metadata.resourceVersion, resourceVersion)) return;
    const raw = canonicalJson(lease['spec'] ?? null);
    const sinceMs = known?.raw === raw ? known.sinceMs : this.#clock.monotonicMs();
    this.#seen.set(name, { lease, record: leaseRecord(lease), raw, sinceMs });
    this.#absentSinceMs.delete(name);
    this.#onChange();
  }

  /** A write has found that it is not there. */
  gone(name: string): void {
    this.#seen.delete(name);
    this.#absentSinceMs.set(name, this.#clock.monotonicMs());
    this.#onChange();
  }

  /** Another history has begun, in which versions count anew. */
  forget(): void {
    this.#seen.clear();
    this.#absentSinceMs.clear();
  }

  add(object: KnownObject): void {
    this.#noted(object);
  }

  update(_: KnownObject, after: KnownObject): void {
    this.#noted(after);
  }

  delete({ identity: { name, resourceVersion } }: KnownObject): void {
    const known = this.#seen.get(name);
    if (known === undefined || isNewer(known.lease.metadata.resourceVersion, resourceVersion)) return;
    this.gone(name);
  }

  #noted({ identity, watched }: KnownObject): void {
    if (this.#names.has(identity.name) && watched !== undefined) this.see(watched.parse());
  }
}
