// Tables as kubectl asks for them: the print columns of the kind, where the object is, and its age.
import type { KindDefinition, PrintColumn } from '../api/kind.ts';
import { isJsonObject, type JsonObject, type JsonValue, valueAt } from '../base/json.ts';
import { terminalLine } from '../base/terminal-text.ts';
import type { StoredObject } from '../storage/metadata-storage.ts';
import { presentObject, whereabouts } from './present.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description: string;
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority: 0 | 1;
  readonly cell: (stored: StoredObject, object: JsonObject, now: Date) => JsonValue;
}

const where: Readonly<Record<ReturnType<typeof whereabouts>, string>> = {
  live: 'etcd and MySQL',
  evicted: 'MySQL',
  deleted: 'deleted',
};

/** What a row carries of its object: `includeObject` of the request. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

function columnsOf(kind: KindDefinition): readonly Column[] {
  return [
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
      description: 'Where the object is: in etcd and MySQL, evicted to MySQL only, or deleted and kept for the record.',
      priority: 0,
      cell: (stored) => where[whereabouts(stored)],
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

export function columnDefinitions(kind: KindDefinition): JsonValue[] {
  return columnsOf(kind).map(({ name, type, format = '', description, priority }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));
}

/** Makes the rows of one kind's table. */
export function rowMaker(
  kind: KindDefinition,
  include: IncludeObject,
  now: Date,
): (stored: StoredObject) => JsonObject {
  const columns = columnsOf(kind);
  return (stored) => {
    const object = presentObject(kind, stored);
    return { cells: columns.map(({ cell }) => shown(cell(stored, object, now))), object: included(object, include) };
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

const SECOND = 1;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

interface Step {
  /** The step holds below this many seconds. */
  readonly below: number;
  readonly unit: readonly [seconds: number, letter: string];
  /** Shown after the unit where it is not zero. */
  readonly rest?: readonly [seconds: number, letter: string];
}

/** Coarser as it gets longer, as in kubectl's AGE column (HumanDuration of apimachinery). */
const steps: readonly Step[] = [
  { below: 2 * MINUTE, unit: [SECOND, 's'] },
  { below: 10 * MINUTE, unit: [MINUTE, 'm'], rest: [SECOND, 's'] },
  { below: 3 * HOUR, unit: [MINUTE, 'm'] },
  { below: 8 * HOUR, unit: [HOUR, 'h'], rest: [MINUTE, 'm'] },
  { below: 2 * DAY, unit: [HOUR, 'h'] },
  { below: 8 * DAY, unit: [DAY, 'd'], rest: [HOUR, 'h'] },
  { below: 2 * YEAR, unit: [DAY, 'd'] },
  { below: 8 * YEAR, unit: [YEAR, 'y'], rest: [DAY, 'd'] },
];

/** For example `45s`, `5m30s`, `3h`, `2d4h`, `3y12d`. Clocks that differ by a second or two show `0s`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const step = steps.find(({ below }) => seconds < below);
  if (step === undefined) return `${Math.floor(seconds / YEAR)}y`;
  const [size, letter] = step.unit;
  const [restSize, restLetter] = step.rest ?? [1, ''];
  const remainder = step.rest === undefined ? 0 : Math.floor((seconds % size) / restSize);
  return `${Math.floor(seconds / size)}${letter}${remainder === 0 ? '' : `${remainder}${restLetter}`}`;
}

/** The time since then, or `<unknown>` where there is none. */
export function age(since: string | undefined, now: Date): string {
  const time = Date.parse(since ?? '');
  return Number.isNaN(time) ? '<unknown>' : humanDuration(now.getTime() - time);
}
