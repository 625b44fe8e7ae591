// Tables as kubectl asks for them: the print columns of the kind, where the object is, and its age.
import type { KindDefinition, PrintColumn } from '../api/kind.ts';
import { RESTORED_FROM_ANNOTATION } from '../api/names.ts';
import { age } from '../base/human-duration.ts';
import { isJsonObject, type JsonObject, type JsonValue, valueAt } from '../base/json.ts';
import { terminalLine } from '../base/terminal-text.ts';
import { type FoundObject, presentObject, whereabouts } from './present.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description: string;
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority: 0 | 1;
  readonly cell: (stored: FoundObject, object: JsonObject, now: Date) => JsonValue;
}

const where: Readonly<Record<ReturnType<typeof whereabouts>, string>> = {
  live: 'etcd and MySQL',
  evicted: 'MySQL',
  deleted: 'deleted',
};

const clusterColumn: Column = {
  name: 'Cluster',
  type: 'string',
  description: 'Cluster that the object is of.',
  priority: 0,
  cell: ({ cluster = '' }) => cluster,
};

/** What a row carries of its object: `includeObject` of the request. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableForm {
  readonly kind: KindDefinition;
  readonly includeObject: IncludeObject;
  readonly now: Date;
  /** `every`: the table says in which cluster an object is. */
  readonly clusters?: 'every';
}

function columnsOf({ kind, clusters }: Pick<TableForm, 'kind' | 'clusters'>): readonly Column[] {
  return [
    ...(clusters === 'every' ? [clusterColumn] : []),
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'Name of the object.',
      priority: 0,
      cell: (stored) => stored.name,
    },
    ...kind.printColumns.map(printColumn),
    {
      name: 'Where',
      type: 'string',
      description:
        'Where the object is: in etcd and MySQL, evicted to MySQL only, or deleted and kept for the record; restored where it is in ' +
        'etcd, made from one of the others, which stays listed with its own uid.',
      priority: 0,
      cell: (stored, object) => {
        const place = whereabouts(stored);
        const wasRestored = typeof valueAt(object, ['metadata', 'annotations', RESTORED_FROM_ANNOTATION]) === 'string';
        // Of one that was deleted afterwards it would read as if it had been put back.
        return `${where[place]}${wasRestored && place === 'live' ? ', restored' : ''}`;
      },
    },
    {
      name: 'Age',
      type: 'date',
      description: 'Time since the object was created.',
      priority: 0,
      cell: (_stored, object, now) => age(createdAt(object), now),
    },
    {
      name: 'UID',
      type: 'string',
      description: 'UID of this incarnation.',
      priority: 1,
      cell: (stored) => stored.uid,
    },
    {
      name: 'Stored',
      type: 'date',
      description: 'Time since MySQL took this state.',
      priority: 1,
      cell: (stored, _object, now) => age(stored.updateTime, now),
    },
  ];
}

function printColumn({ name, path, type }: PrintColumn): Column {
  const steps = path.split('.').slice(1);
  return {
    name,
    type,
    description: `Value of ${path}.`,
    priority: 0,
    cell: (_stored, object, now) => {
      const value = valueAt(object, steps) as JsonValue | undefined;
      if (value === undefined || isJsonObject(value)) return null;
      return type === 'date' && typeof value === 'string' ? age(value, now) : value;
    },
  };
}

function createdAt(object: JsonObject): string | undefined {
  const value = valueAt(object, ['metadata', 'creationTimestamp']);
  return typeof value === 'string' ? value : undefined;
}

export function columnDefinitions(form: Pick<TableForm, 'kind' | 'clusters'>): JsonValue[] {
  return columnsOf(form).map(({ name, type, format = '', description, priority }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));
}

/** Makes the rows of one kind's table. */
export function rowMaker(form: TableForm): (stored: FoundObject) => JsonObject {
  const { kind, includeObject, now } = form;
  const columns = columnsOf(form);
  return (stored) => {
    const object = presentObject(kind, stored);
    return {
      cells: columns.map(({ cell }) => shown(cell(stored, object, now))),
      object: included(object, includeObject),
    };
  };
}

/** Cells are shown to users, and not every client that prints them escapes them. */
function shown(cell: JsonValue): JsonValue {
  if (typeof cell === 'string') return terminalLine(cell);
  return Array.isArray(cell) ? cell.map(shown) : cell;
}

function included(object: JsonObject, include: IncludeObject): JsonValue {
  switch (include) {
    case 'None':
      return null;
    case 'Object':
      return object;
    case 'Metadata':
      return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object['metadata'] };
  }
}
