// Who worked on which objects when, as the logs of reconcilers tell it.
import { readFileSync } from 'node:fs';
import { allBuckets, bucketOf } from '../../src/runtime/replicas/buckets.ts';

interface Line {
  readonly msg: string;
  readonly timeMs: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly lease?: string;
  readonly buckets?: readonly number[];
}

interface Ownership {
  readonly who: string;
  readonly buckets: ReadonlySet<number>;
  readonly fromMs: number;
  untilMs: number;
}

interface Step {
  readonly who: string;
  readonly uid: string;
  readonly atMs: number;
  readonly line: Line;
}

const LEADER = 'ingester-system/ingester-reconciler';

function linesOf(file: string): readonly Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => {
      const parsed = JSON.parse(line) as Line & { readonly time: string };
      return { ...parsed, timeMs: Date.parse(parsed.time) };
    });
}

/**
 * From when a process says that objects are its own until it says that it ends that. One that was killed worked until its
 * last line about an object, as far as the logs tell.
 */
function ownershipsOf(who: string, lines: readonly Line[]): readonly Ownership[] {
  const isReplica = lines.some(({ msg }) => msg === 'A term begins');
  const found: Ownership[] = [];
  let open: Ownership | undefined;
  for (const { msg, timeMs, lease, buckets = allBuckets, uid } of lines) {
    if (msg === 'A term begins' || (!isReplica && msg === 'Leading' && lease === LEADER)) {
      open = { who, buckets: new Set(buckets), fromMs: timeMs, untilMs: timeMs };
      found.push(open);
    }
    if (open !== undefined && uid !== undefined) open.untilMs = timeMs;
    if (open === undefined || (msg !== 'The term ends' && msg !== 'Reconciler stopped')) continue;
    open.untilMs = timeMs;
    open = undefined;
  }
  return found;
}

/** What was done to an object while it was another process's, and states that two processes stored. */
export function doubleWork(logs: Readonly<Record<string, string>>): readonly string[] {
  const told = Object.entries(logs).map(([who, file]) => ({ who, lines: linesOf(file) }));
  const owned = told.flatMap(({ who, lines }) => ownershipsOf(who, lines));
  const steps: readonly Step[] = told.flatMap(({ who, lines }) =>
    lines.flatMap((line) => (line.uid === undefined ? [] : [{ who, uid: line.uid, atMs: line.timeMs, line }])),
  );
  const foreign = steps.flatMap(({ who, uid, atMs, line }) =>
    owned
      .filter((each) => each.who !== who && each.buckets.has(bucketOf(uid)))
      .filter(({ fromMs, untilMs }) => fromMs < atMs && atMs < untilMs)
      .map((each) => `${who} worked on ${uid} (${line.msg}), which was ${each.who}'s`),
  );
  const storedBy = new Map<string, Set<string>>();
  for (const { who, uid, line } of steps.filter((step) => step.line.msg.startsWith('Synced to MySQL'))) {
    const state = `${uid} at ${line.resourceVersion ?? ''}`;
    storedBy.set(state, (storedBy.get(state) ?? new Set()).add(who));
  }
  const twice = [...storedBy]
    .filter(([, by]) => by.size > 1)
    .map(([state, by]) => `${[...by].join(' and ')}: ${state}`);
  return [...foreign, ...twice];
}
