// What happened to an object, as far as it and its row say.
import { enumWord, mark, type StoredDocument, type Tone, toneOf } from './documents.ts';

export interface Moment {
  readonly at: string;
  readonly what: string;
  readonly tone: Tone;
}

export interface Step {
  readonly name: string;
  readonly start: string;
  /** Undefined while it runs. */
  readonly end: string | undefined;
  readonly state: string;
}

const MAX_STEPS = 40;

/** The oldest first. */
export function moments({ metadata, status }: StoredDocument): readonly Moment[] {
  const { endTime, state } = fieldsOf(status);
  const ended = typeof state === 'string' ? enumWord(state) : undefined;
  const marked = metadata.annotations?.['michelangelo/Immutable'] === 'true';
  const known: readonly (readonly [at: unknown, what: string, tone: Tone])[] = [
    [metadata.creationTimestamp, 'Created', 'quiet'],
    [endTime, ended === undefined ? 'Ended' : `Ended: ${ended.toLowerCase()}`, toneOf(textOf(state))],
    [metadata.deletionTimestamp, 'Deletion asked for', 'busy'],
    [mark(metadata, 'update-time'), 'Last stored', 'quiet'],
    [
      mark(metadata, 'evict-time'),
      `Evicted${marked ? ', as a client marked it' : ''}: left etcd, kept in MySQL`,
      'quiet',
    ],
    [mark(metadata, 'delete-time'), 'Deleted', 'bad'],
  ];
  return known
    .flatMap(([at, what, tone]) =>
      typeof at === 'string' && !Number.isNaN(Date.parse(at)) ? [{ at, what, tone }] : [],
    )
    .toSorted((left, right) => Date.parse(left.at) - Date.parse(right.at));
}

/** Those that began, forty at most. */
export function steps({ status }: StoredDocument): readonly Step[] {
  const { steps: listed } = fieldsOf(status);
  return (Array.isArray(listed) ? listed : []).slice(0, MAX_STEPS).flatMap((one) => {
    const { displayName, name, startTime, endTime, state } = fieldsOf(one);
    if (typeof startTime !== 'string') return [];
    const end = typeof endTime === 'string' ? endTime : undefined;
    return [{ name: textOf(displayName) || textOf(name), start: startTime, end, state: textOf(state) }];
  });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
