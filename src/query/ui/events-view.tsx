// What Kubernetes events say of an object: among them why it waits.
import type { VNode } from 'preact';
import { useLoaded } from './hooks.ts';
import { objectPath } from './lib/address.ts';
import type { Api } from './lib/api.ts';
import type { Events, Metadata } from './lib/documents.ts';
import { Problem, Time } from './words.tsx';

interface Props {
  readonly api: Api;
  readonly plural: string;
  readonly metadata: Metadata;
  /** Counts up when they have to be read again. */
  readonly turn: number;
}

export function EventsView({ api, plural, metadata, turn }: Props): VNode {
  const path = `${objectPath(plural, metadata)}/events?uid=${encodeURIComponent(metadata.uid)}`;
  const { value, error } = useLoaded(`${path} ${turn}`, async (signal) => {
    return (await api<Events>(path, { signal })).document;
  });
  return (
    <section aria-label="Events">
      <h3>Events</h3>
      {error === undefined ? null : error.status === 403 ? (
        <p class="quiet">{error.message}</p>
      ) : (
        <Problem text={error.message} />
      )}
      {value?.items.length === 0 ? <p class="quiet">None. Kubernetes keeps an event for an hour.</p> : null}
      {value === undefined || value.items.length === 0 ? null : (
        <ul class="events">
          {value.items.map(({ type, reason, message, count, lastTime }) => (
            <li data-tone={type === 'Warning' ? 'bad' : 'quiet'}>
              <span class="reason">{reason}</span>{' '}
              <span class="quiet">
                {lastTime === undefined ? null : <Time at={lastTime} />}
                {count > 1 ? `, ${count} times` : ''}
              </span>
              <br />
              {message}
            </li>
          ))}
        </ul>
      )}
      {value?.truncated === true ? <p class="quiet">There are more; these are the newest.</p> : null}
    </section>
  );
}
