// Deleting what a selector finds among the objects that are in MySQL only: first shown, then confirmed, then deleted in
// pieces, so that progress is seen and no request takes long.
import type { StoredObjects } from '../../app/commands/stored-objects.ts';
import type { JsonObject } from '../../base/json.ts';
import type { KindName } from '../../kinds/kind-names.ts';
import { confirm } from '../confirm.ts';
import { note, printResult } from '../print.ts';
import { cellText } from './output.ts';
import { startProgress } from './progress.ts';

export interface Selected {
  readonly kind: KindName;
  readonly namespace: string;
  readonly selector?: string;
  readonly fieldSelector?: string;
}

export interface CollectionFlags {
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly output: 'text' | 'json';
}

/** Of one run, which is what the query API counts at most. */
const MOST = 10_000;
const PIECE = 500;

export async function deleteSelected(
  objects: Pick<StoredObjects, 'call'>,
  selected: Selected,
  flags: CollectionFlags,
): Promise<void> {
  const preview = await callFor(objects, selected, { limit: String(MOST), dryRun: 'All' });
  if (flags.dryRun) {
    printResult(flags.output, preview, previewText(selected, preview));
    return;
  }
  const count = Number(preview['count']);
  if (count > 0 && !flags.yes) await confirm({ ...confirmation, preview: previewText(selected, preview) });
  const deleted = await deletePieces(objects, selected, count);
  const more = preview['remaining'] === 'some' ? '; there are more: run it again' : '';
  printResult(
    flags.output,
    { deleted },
    `${deleted} ${selected.kind.plural} in ${selected.namespace} deleted${more}\n`,
  );
}

/** No more than were shown, whatever is evicted meanwhile. */
async function deletePieces(objects: Pick<StoredObjects, 'call'>, selected: Selected, count: number): Promise<number> {
  const progress = startProgress(process.stderr, 'objects');
  let deleted = 0;
  try {
    while (deleted < count) {
      const result = await callFor(objects, selected, { limit: String(Math.min(PIECE, count - deleted)) });
      const gone = Number(result['count']);
      deleted += gone;
      progress.add(gone);
      if (result['remaining'] === 'none') break;
    }
  } catch (error) {
    progress.end();
    note(`${deleted} were deleted before this:\n`);
    throw error;
  }
  progress.end();
  return deleted;
}

function callFor(
  objects: Pick<StoredObjects, 'call'>,
  { kind, namespace, selector, fieldSelector }: Selected,
  more: Readonly<Record<string, string>>,
): Promise<JsonObject> {
  const path = `/namespaces/${encodeURIComponent(namespace)}/${kind.plural}`;
  const labels = selector === undefined ? {} : { labelSelector: selector };
  const fields = fieldSelector === undefined ? {} : { fieldSelector };
  return objects.call({ method: 'DELETE', path, query: { ...labels, ...fields, ...more } });
}

function previewText({ kind, namespace }: Selected, { count, remaining, names }: JsonObject): string {
  const what = `${cellText(count)}${remaining === 'some' ? ' or more' : ''} evicted ${kind.plural} in ${namespace}`;
  const shown = Array.isArray(names) ? names.map(cellText) : [];
  const rest = shown.length < Number(count) || remaining === 'some' ? ['…'] : [];
  return [
    `${what} would be deleted; living ones are left alone`,
    ...[...shown, ...rest].map((name) => `  ${name}`),
    '',
  ].join('\n');
}

const confirmation = {
  question: 'Delete them? Type yes: ',
  withoutTerminal: 'Without a terminal, deleting by a selector takes --yes; --dry-run shows what would go',
  declined: 'Nothing was deleted',
};
