// Fields that say which data an Ingester resource has. Once it has run they stay as they are: another database or other
// tables are empty, and what was deleted or evicted would look as if it had never been. From one table come the rules of
// the CRD and what the controller checks, which holds for what was stored under an older CRD, too.
import { valueAt } from '../../base/json.ts';
import type { IngesterSpec } from './spec.ts';

export interface LastingField {
  /** In the specification. */
  readonly path: readonly [string, string];
  /** What is meant where it is not set. */
  readonly initial: string;
  /** Taking the data as it is, which may be asked for at any time. */
  readonly always?: string;
  readonly message: string;
}

export const lastingFields: readonly LastingField[] = [
  {
    path: ['database', 'name'],
    initial: '',
    message:
      'the database cannot be another one after the first success: objects that were deleted or evicted are only in the one of ' +
      'before. Restore or move that one under its name (database.host may change); for another database, delete the ' +
      'Ingester and create it again',
  },
  {
    path: ['kinds', 'tableNames'],
    initial: 'auto',
    always: 'auto',
    message:
      'tables cannot get other names after the first success: objects that were deleted or evicted are only in those of before. ' +
      'Remove the field, or set it to auto, which takes the tables as they are',
  },
];

/** What of it differs from the specification that ran well last, each with its path. */
export function lastingProblems(ran: IngesterSpec | undefined, asked: IngesterSpec): readonly string[] {
  if (ran === undefined) return [];
  return lastingFields.flatMap((field) => {
    const [before, after] = [valueOf(ran, field), valueOf(asked, field)];
    return after === before || after === field.always ? [] : [`spec.${field.path.join('.')}: ${field.message}`];
  });
}

function valueOf(spec: IngesterSpec, { path, initial }: LastingField): unknown {
  return valueAt(spec, path) ?? initial;
}
