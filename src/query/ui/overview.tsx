// What there is: how far behind the store is, what was created when, and every kind.
import type { VNode } from 'preact';
import { useLoaded } from './hooks.ts';
import { hashOf } from './lib/address.ts';
import type { Api } from './lib/api.ts';
import { type Aggregate, type KindSummary, type State, type Summary, states } from './lib/documents.ts';
import { duration } from './lib/time.ts';
import { StuckView } from './stuck-view.tsx';
import { Problem } from './words.tsx';

const DAYS = 30;
const DAY_MS = 86_400_000;
/** A store that was last known to be complete longer ago is late; the API warns from then on, too. */
const LATE_SECONDS = 180;

type Daily = Readonly<Record<State, readonly number[]>>;

const days = (now: number): readonly string[] =>
  Array.from({ length: DAYS }, (_, index) => new Date(now - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10));

/** One kind after another, so that a page that is opened does not use up what its user may ask. */
async function daily(
  api: Api,
  kinds: readonly KindSummary[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Daily>> {
  const dates = days(Date.now());
  const found = new Map<string, Daily>();
  for (const { plural, counts } of kinds) {
    const of = async (source: State): Promise<readonly [State, readonly number[]]> => {
      if (counts[source] === 0) return [source, dates.map(() => 0)];
      const parameters = new URLSearchParams({
        groupBy: 'created.day',
        source,
        createdAfter: `${dates[0] ?? ''}T00:00:00Z`,
      });
      const { items } = (await api<Aggregate>(`/${plural}/-/aggregate?${parameters.toString()}`, { signal })).document;
      const byDay = new Map(items.map(({ group, count }) => [group['created.day'], count]));
      return [source, dates.map((date) => byDay.get(date) ?? 0)];
    };
    found.set(plural, Object.fromEntries(await Promise.all(states.map(of))) as unknown as Daily);
  }
  return found;
}

const sums = (lists: readonly (readonly number[])[]): readonly number[] =>
  Array.from({ length: DAYS }, (_, index) => lists.reduce((sum, list) => sum + (list[index] ?? 0), 0));

interface Props {
  readonly api: Api;
  readonly summary: Summary;
  readonly turn: number;
}

export function Overview({ api, summary, turn }: Props): VNode {
  const { items, namespacesLeftOut } = summary;
  const key = items.map(({ plural, counts }) => `${plural} ${JSON.stringify(counts)}`).join();
  const { value: byKind, error } = useLoaded(key, (signal) => daily(api, items, signal));
  const late = items.filter(({ lagSeconds }) => lagSeconds === undefined || lagSeconds > LATE_SECONDS);
  return (
    <>
      <h2 tabIndex={-1}>Overview</h2>
      <dl class="figures">
        {states.map((state) => (
          <div data-state={state}>
            <dt>{state}</dt>
            <dd>{items.reduce((sum, { counts }) => sum + counts[state], 0).toLocaleString('en')}</dd>
          </div>
        ))}
        <Lag kinds={items} />
      </dl>
      {late.length === 0 ? null : (
        <p class="late" role="status">
          Not known to be complete: {late.map(({ kind, lagSeconds }) => `${kind} (${lagWord(lagSeconds)})`).join(', ')}
        </p>
      )}
      {namespacesLeftOut === undefined ? null : (
        <p class="late">{namespacesLeftOut} namespaces are not counted: there are too many to ask about.</p>
      )}
      <StuckView api={api} turn={turn} />
      {error === undefined ? null : <Problem text={error.message} />}
      {byKind === undefined ? null : <Chart byKind={byKind} />}
      <KindTable kinds={items} byKind={byKind} />
    </>
  );
}

const lagWord = (seconds: number | undefined): string =>
  seconds === undefined ? 'no reconciler has run' : `${duration(seconds)} behind`;

/** It rises to a minute and falls again where nothing changes, which is no lag. */
const COMPLETE =
  'Every change up to then is stored. The reconciler makes sure about once a minute where nothing changes; changes are stored at once.';

function Lag({ kinds }: { readonly kinds: readonly KindSummary[] }): VNode {
  const known = kinds.map(({ lagSeconds }) => lagSeconds).filter((lag) => lag !== undefined);
  return (
    <div title={COMPLETE}>
      <dt>complete up to</dt>
      <dd>{known.length === 0 ? 'unknown' : `${duration(Math.max(...known))} ago`}</dd>
    </div>
  );
}

const [STEP, HIGH] = [24, 120];

function Chart({ byKind }: { readonly byKind: ReadonlyMap<string, Daily> }): VNode {
  const lists = states.map((state) => sums([...byKind.values()].map((one) => one[state])));
  const most = Math.max(1, ...sums(lists));
  const dates = days(Date.now());
  const label = `Objects created a day, by where they are now; ${sums(lists).reduce((a, b) => a + b, 0)} in ${DAYS} days, ${most} a day at most`;
  return (
    <section aria-label="Created per day">
      <h3>Created per day, by where they are now</h3>
      <svg class="chart" viewBox={`0 0 ${DAYS * STEP} ${HIGH}`} role="img" aria-label={label}>
        {dates.map((date, day) => {
          let top = HIGH;
          return states.map((state, index) => {
            const count = lists[index]?.[day] ?? 0;
            const height = (count / most) * HIGH;
            top -= height;
            return count === 0 ? null : (
              <rect class="fill" data-state={state} x={day * STEP + 2} y={top} width={STEP - 4} height={height}>
                <title>{`${date}: ${count} ${state}`}</title>
              </rect>
            );
          });
        })}
      </svg>
      <p class="scale quiet">
        <span>{dates[0]}</span>
        <span class="legend">
          {states.map((state) => (
            <span data-state={state}>{state}</span>
          ))}
        </span>
        <span>today</span>
      </p>
    </section>
  );
}

interface KindTableProps {
  readonly kinds: readonly KindSummary[];
  readonly byKind: ReadonlyMap<string, Daily> | undefined;
}

function KindTable({ kinds, byKind }: KindTableProps): VNode {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Table of kinds">
      <table id="kinds">
        <thead>
          <tr>
            {['Kind', 'Live', 'Evicted', 'Deleted', 'Complete', '30 days'].map((head) => (
              <th scope="col" title={head === 'Complete' ? COMPLETE : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {kinds.map(({ kind, plural, counts, lagSeconds }) => (
            <tr key={plural}>
              <td>
                <a href={hashOf([plural])}>{kind}</a>
              </td>
              {states.map((state) => (
                <td data-none={counts[state] === 0 ? '' : undefined}>{counts[state].toLocaleString('en')}</td>
              ))}
              <td>{lagSeconds === undefined ? 'unknown' : `${Math.round(lagSeconds)} s ago`}</td>
              <td>
                <Sparkline counts={sums(Object.values(byKind?.get(plural) ?? {}))} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Sparkline({ counts }: { readonly counts: readonly number[] }): VNode {
  const most = Math.max(1, ...counts);
  const points = counts.map((count, day) => `${day * 4},${(19 - (count / most) * 18).toFixed(1)}`).join(' ');
  return (
    <svg class="spark" viewBox={`-1 0 ${DAYS * 4} 20`} aria-hidden="true">
      <polyline points={points} />
    </svg>
  );
}
