// What the reconciler cannot deal with, and why.
import type { VNode } from 'preact';
import { useLoaded } from './hooks.ts';
import { objectHash } from './lib/address.ts';
import type { Api } from './lib/api.ts';
import type { Stuck } from './lib/documents.ts';
import { duration } from './lib/time.ts';
import { Problem, Time } from './words.tsx';

const SHOWN = 20;
/** Of what is older nothing is known; as `REPORT_OLD_SECONDS` of the query API. */
const OLD_SECONDS = 15;

/** `turn` counts up when it has to be read again. */
export function StuckView({ api, turn }: { readonly api: Api; readonly turn: number }): VNode {
  const { value, error } = useLoaded(String(turn), async (signal) => (await api<Stuck>('/stuck', { signal })).document);
  return (
    <section aria-label="Stuck" id="stuck">
      <h3>Stuck</h3>
      {error === undefined ? null : <Problem text={error.message} />}
      {value === undefined ? null : <Told stuck={value} />}
    </section>
  );
}

function Told({ stuck }: { readonly stuck: Stuck }): VNode {
  const { items, count, truncated, ageSeconds, heldDeletions, unwatchedKinds } = stuck;
  const shown = items.slice(0, SHOWN);
  const more = count > shown.length || truncated;
  const isOld = ageSeconds > OLD_SECONDS;
  return (
    <>
      {isOld ? (
        <p class="late">What is stuck now is not known: the reconciler has told nothing for {duration(ageSeconds)}.</p>
      ) : null}
      {unwatchedKinds.map(({ kind, since, message }) => (
        <p class="late" key={kind}>
          {kind} is late (<Time at={since} />
          ): {message}
        </p>
      ))}
      {heldDeletions.map(({ kind, plural, namespace, since, message }) => (
        <p class="late" key={`${plural} ${namespace ?? ''}`}>
          Deletions of {kind}
          {namespace === undefined ? '' : ` in ${namespace}`} are held (<Time at={since} />
          ): {message}
        </p>
      ))}
      {items.length > 0 ? <StuckList items={shown} /> : null}
      {items.length === 0 && !isOld ? (
        <p class="quiet">
          {truncated ? 'None of the oldest is one that you may list.' : 'Nothing of what you may list.'}
        </p>
      ) : null}
      {more && shown.length > 0 ? (
        <p class="quiet">
          The oldest {shown.length} of {count.toLocaleString('en')}
          {truncated && count === items.length ? ' or more' : ''}.
        </p>
      ) : null}
    </>
  );
}

function StuckList({ items }: Pick<Stuck, 'items'>): VNode {
  return (
    <ul class="events">
      {items.map(({ kind, plural, namespace, name, since, attempts, message }) => (
        <li data-tone="bad" key={`${plural} ${namespace}/${name}`}>
          {kind}{' '}
          <a class="reason" href={objectHash(plural, { namespace, name })}>
            {namespace}/{name}
          </a>{' '}
          <span class="quiet">
            <Time at={since} />, {attemptsWord(attempts)}
          </span>
          <br />
          {message}
        </li>
      ))}
    </ul>
  );
}

interface NoteProps {
  readonly api: Api;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly turn: number;
}

/** Why one object is stuck, also where it was never stored; nothing where it is not. */
export function StuckNote({ api, plural, namespace, name, turn }: NoteProps): VNode | null {
  const { value, error } = useLoaded(`${plural} ${namespace}/${name} ${turn}`, async (signal) => {
    const { items } = (await api<Stuck>('/stuck', { signal })).document;
    return items.filter((one) => one.plural === plural && one.namespace === namespace && one.name === name);
  });
  if (error !== undefined) return <p class="quiet">Whether it is stuck is not known: {error.message}</p>;
  const [stuck] = value ?? [];
  if (stuck === undefined) return null;
  return (
    <p class="late" role="status">
      Stuck (<Time at={stuck.since} />, {attemptsWord(stuck.attempts)}): {stuck.message}
    </p>
  );
}

const attemptsWord = (attempts: number): string => (attempts === 1 ? 'one attempt' : `${attempts} attempts`);
