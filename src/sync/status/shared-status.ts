// Where all replicas work, each writes what it knows into a key of its own beside the status, and the leader adds them up.
import type { Clock } from '../../base/clock.ts';
import type { IngesterStatus, KindStatus } from './status.ts';

const PREFIX = 'share.';
/** A replica that has written nothing for so long is gone. It is judged by the clock of the leader alone. */
const GONE_MS = 15_000;

type Data = Readonly<Record<string, string>>;

export function shareKey(name: string): string {
  return `${PREFIX}${name}`;
}

/** The statuses of the others, as the leader finds them in the answers to its own writes. */
export class SharedStatus {
  readonly #clock: Clock;
  readonly #own: string;
  #seen = new Map<string, { readonly text: string; readonly sinceMs: number }>();

  constructor(clock: Clock, own: string) {
    this.#clock = clock;
    this.#own = shareKey(own);
  }

  note(data: Data): void {
    const nowMs = this.#clock.monotonicMs();
    const shares = Object.entries(data).filter(([key]) => key.startsWith(PREFIX));
    this.#seen = new Map(
      shares.map(([key, text]) => {
        const known = this.#seen.get(key);
        return [key, known?.text === text ? known : { text, sinceMs: nowMs }];
      }),
    );
  }

  get others(): readonly IngesterStatus[] {
    const live = [...this.#seen].filter(([key, { sinceMs }]) => key !== this.#own && !this.#isGone(sinceMs));
    return live.map(([, { text }]) => JSON.parse(text) as IngesterStatus);
  }

  /** Keys of those that are gone, and the own one: the leader writes the whole. */
  get left(): readonly string[] {
    return [...this.#seen].flatMap(([key, { sinceMs }]) => (key === this.#own || this.#isGone(sinceMs) ? [key] : []));
  }

  #isGone(sinceMs: number): boolean {
    return this.#clock.monotonicMs() - sinceMs >= GONE_MS;
  }
}

/** Pure. What all replicas know together; `own` says when, and which of them wrote it. */
export function added(own: IngesterStatus, others: readonly IngesterStatus[], listed: number): IngesterStatus {
  const all = [own, ...others];
  const sum = (of: (status: IngesterStatus) => number | undefined): number =>
    all.reduce((total, status) => total + (of(status) ?? 0), 0);
  return {
    ...own,
    storage: all.find(({ storage }) => storage.problem !== undefined)?.storage ?? own.storage,
    kinds: addedKinds(all),
    failingObjects: {
      count: sum(({ failingObjects }) => failingObjects.count),
      listed: all.flatMap(({ failingObjects }) => failingObjects.listed).slice(0, listed),
    },
    incompleteProtos: {
      count: sum(({ incompleteProtos }) => incompleteProtos?.count),
      listed: all.flatMap(({ incompleteProtos }) => incompleteProtos?.listed ?? []).slice(0, listed),
    },
    spooled: sum(({ spooled }) => spooled),
    spoolAside: sum(({ spoolAside }) => spoolAside),
  };
}

function addedKinds(all: readonly IngesterStatus[]): readonly KindStatus[] {
  const byKind = Map.groupBy(
    all.flatMap(({ kinds }) => kinds),
    ({ kind }) => kind,
  );
  return [...byKind.values()].map((parts) =>
    parts.reduce((total, part) => ({
      ...part,
      ...total,
      objects: total.objects + part.objects,
      failing: total.failing + part.failing,
    })),
  );
}
