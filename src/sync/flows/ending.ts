import { isMarkedDeleting, type KubernetesObject } from '../../api/object.ts';
import type { MetadataStorage, WriteOutcome } from '../../storage/metadata-storage.ts';
import type { ObjectRow } from '../../storage/row.ts';
import { archivedBecause, type ClassifyOptions } from './classify.ts';
import { retention } from './retention.ts';

/** How the row of an object that leaves etcd ends. `as-recorded`: evicted where that was intended before, else deleted. */
export const endings = ['deleted', 'evicted', 'as-recorded'] as const;
export type Ending = (typeof endings)[number];

export interface EndingOptions extends ClassifyOptions {
  readonly pruneArchived?: 'archive' | 'delete';
}

/** What the object says about its own end; pure, so that the same object ends the same way whenever it is looked at. */
export function endingOf(object: KubernetesObject, options: EndingOptions): Ending {
  if (isMarkedDeleting(object)) return 'deleted';
  if (options.pruneArchived === 'delete' && retention(object) !== undefined) return 'deleted';
  return archivedBecause(object, options) === undefined ? 'as-recorded' : 'evicted';
}

/**
 * Writes the final state; harmless to run again. `isReleased`: our finalizer is off, so the row has ended before, and what
 * a user made of it since stays.
 */
export async function storeEnding(
  storage: MetadataStorage,
  row: ObjectRow,
  end: { readonly ending: Ending; readonly at: Date; readonly isReleased?: boolean },
): Promise<WriteOutcome> {
  switch (end.ending) {
    case 'deleted':
      return storage.delete(row, end.at);
    case 'as-recorded':
      return storage.finish(row, end.at);
    case 'evicted': {
      const stored = await storage.getById(row.kind, row.uid);
      if (end.isReleased === true && stored?.state === 'deleted') return storage.finish(row, end.at);
      const intended = stored?.state === 'evicting' || stored?.state === 'evicted';
      if (!intended && (await storage.requestEviction(row, end.at)) === 'stale') return 'stale';
      return storage.finish(row, end.at);
    }
  }
}
