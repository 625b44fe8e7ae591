// Owner references stand in the table of the labels, so that the key of a label finds what an owner has, newest first. Each
// has two rows with an empty value: `=<uid>` and `<Kind>=<name>`. What an object was restored from is a row beside them. No
// label has "=" in its key, so none is taken for another.
import { RESTORED_FROM_ANNOTATION } from '../api/names.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import { QueryUnsupportedError } from './errors.ts';
import type { FieldCondition, LabelRequirement } from './list-query.ts';

type Pair = readonly [key: string, value: string];

const FIELD = 'metadata.ownerReferences';
const UID_FIELD = `${FIELD}.uid`;

/** What the value of a label has room for. */
const LABEL_VALUE = 63;

/** What a key has room for, and what is compared byte by byte; the API server lets no other name or kind exist. */
const isKind = (text: string): boolean => /^[A-Za-z][-A-Za-z0-9]{0,62}$/.test(text);
const isName = (text: string): boolean => /^[!-~]{1,253}$/.test(text);

/** The key of the row that has the uid of what an object was restored from. An owner has a name behind the "=". */
export const ORIGIN_KEY = 'restored-from=';

/** The rows of what an object names: its owners, and what it was restored from. */
export function namedPairs(object: unknown): readonly Pair[] {
  const origin = valueAt(object, ['metadata', 'annotations', RESTORED_FROM_ANNOTATION]);
  const isUid = typeof origin === 'string' && origin.length <= LABEL_VALUE && isName(origin);
  return [...ownerPairs(object), ...(isUid ? [[ORIGIN_KEY, origin] as const] : [])];
}

function ownerPairs(object: unknown): readonly Pair[] {
  const owners = valueAt(object, ['metadata', 'ownerReferences']);
  if (!Array.isArray(owners)) return [];
  const keys = owners
    .filter(isJsonObject)
    .flatMap(({ kind, name, uid }) => [
      ...(typeof uid === 'string' && isName(uid) ? [`=${uid}`] : []),
      ...(typeof kind === 'string' && isKind(kind) && typeof name === 'string' && isName(name)
        ? [`${kind}=${name}`]
        : []),
    ]);
  return [...new Set(keys)].map((key) => [key, '']);
}

/** Whether a row of the table of the labels is no label. */
export function isNamedKey(key: string): boolean {
  return key.includes('=');
}

/** The conditions on owners, as what a list of labels has to ask for, and the others. */
export function splitOwners(conditions: readonly FieldCondition[]): {
  readonly owners: readonly LabelRequirement[];
  readonly fields: readonly FieldCondition[];
} {
  const owners = conditions.map(ownerRequirement);
  return {
    owners: owners.filter((owner) => owner !== undefined),
    fields: conditions.filter((_condition, index) => owners[index] === undefined),
  };
}

/** Undefined where the field is no owner. Throws where it is, and cannot be asked for so. */
export function ownerRequirement(condition: FieldCondition): LabelRequirement | undefined {
  if (!`${condition.field}.`.startsWith(`${FIELD}.`)) return undefined;
  const key = 'value' in condition ? keyOf(condition.field, String(condition.value)) : undefined;
  const operators = { '=': 'in', '!=': 'notIn' } as const;
  if (key !== undefined && (condition.operator === '=' || condition.operator === '!=')) {
    return { key, operator: operators[condition.operator], values: [''] };
  }
  const forms = [`${UID_FIELD}=<uid>`, `${FIELD}=<Kind>/<name>, such as Pipeline/train`, 'the same with !='];
  throw new QueryUnsupportedError(`${condition.field.slice(0, 100)} in this form`, forms);
}

function keyOf(field: string, value: string): string | undefined {
  if (field === UID_FIELD) return isName(value) ? `=${value}` : undefined;
  const [kind = '', ...name] = value.split('/');
  return field === FIELD && isKind(kind) && isName(name.join('/')) ? `${kind}=${name.join('/')}` : undefined;
}
