// The change feed: every object in the order in which MySQL took its last state, from a cursor on. An object that
// changes twice between two polls comes once, with its last state; deleted and evicted ones come too.
import type { Condition, ListQuery } from '../storage/list-query.ts';
import type { StoredObject } from '../storage/metadata-storage.ts';
import { QueryError } from './errors.ts';
import { pageBounds, selection } from './list-query.ts';
import type { ListRequest } from './list-request.ts';
import type { Collection } from './paths.ts';

/**
 * The feed ends this long before now. A transaction notes its time before it commits, so that one with an earlier time
 * may appear after one with a later; until this long after, nothing is promised to be in order.
 */
export const SETTLE_MS = 10_000;
const MOST = 500;
const UPDATED = 'metadata.updateTimestamp';

interface Cursor {
  readonly updateTime: string;
  readonly uid: string;
}

export function changesQuery(
  collection: Collection,
  among: readonly string[] | undefined,
  parameters: ListRequest,
  now: Date,
): ListQuery {
  const settled = new Date(now.getTime() - SETTLE_MS).toISOString();
  const more: readonly Condition[] = [
    { field: UPDATED, operator: '<', value: settled },
    ...(parameters.since === undefined ? [] : [after(decode(parameters.since))]),
  ];
  return {
    ...selection(collection, among, parameters, more),
    order: { field: UPDATED, direction: 'ascending' },
    deleted: 'included',
    ...(parameters.skip.length === 0 ? {} : { skip: parameters.skip }),
    ...pageBounds,
    limit: Math.min(parameters.limit ?? MOST, MOST),
  };
}

/** Where to go on: the `continue` of the answer is the next `since`, also on the last page. */
export function withCursor(items: readonly StoredObject[], since: string | undefined): string | undefined {
  const last = items.at(-1);
  return last === undefined ? since : encode({ updateTime: last.updateTime, uid: last.key ?? last.uid });
}

function after({ updateTime, uid }: Cursor): Condition {
  return {
    any: [
      { field: UPDATED, operator: '>', value: updateTime },
      {
        all: [
          { field: UPDATED, operator: '=', value: updateTime },
          { field: 'metadata.uid', operator: '>', value: uid },
        ],
      },
    ],
  };
}

function encode({ updateTime, uid }: Cursor): string {
  return Buffer.from(JSON.stringify([updateTime, uid])).toString('base64url');
}

function decode(text: string): Cursor {
  const parts = parsed(text);
  const [updateTime, uid] = Array.isArray(parts) ? (parts as readonly unknown[]) : [];
  if (typeof updateTime === 'string' && typeof uid === 'string') return { updateTime, uid };
  throw new QueryError('BadRequest', 'since is not a cursor of this feed; start without it');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    // Whatever it is, it is no cursor of ours.
    return undefined;
  }
}
