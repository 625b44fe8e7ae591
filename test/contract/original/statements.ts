// What the original's storage sends to MySQL, in our own words: the statements of its first release, and those that newer
// ones added. They name the original's columns only.
export type SqlValue = string | number | null | Uint8Array;

export interface OriginalObject {
  /** In newer releases what the annotation of the key says. */
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: number;
  readonly proto: Uint8Array;
  readonly json: string;
  /** Indexed columns. */
  readonly indexed: Readonly<Record<string, SqlValue>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export type Statement = readonly [sql: string, parameters: readonly SqlValue[]];

/** The statement with its values in it, for a client that takes text alone. */
export function inWords([sql, values]: Statement): string {
  return sql
    .split('?')
    .map((part, index) => part + (index < values.length ? literalOf(values[index] ?? null) : ''))
    .join('');
}

function literalOf(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return `X'${Buffer.from(value).toString('hex')}'`;
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

const CREATED = '2026-05-01 08:00:00';

/** A transaction of its upsert: the row, then all labels and annotations anew. */
export function upsert(table: string, object: OriginalObject, now: string): readonly Statement[] {
  const values: Readonly<Record<string, SqlValue>> = {
    uid: object.uid,
    group_ver: 'michelangelo.api/v2',
    namespace: object.namespace,
    name: object.name,
    res_version: object.resourceVersion,
    create_time: CREATED,
    update_time: now,
    proto: object.proto,
    json: object.json,
    ...object.indexed,
  };
  const columns = Object.keys(values);
  const fixed = ['uid', 'group_ver', 'namespace', 'name', 'create_time'];
  const changed = columns.filter((column) => !fixed.includes(column));
  return [
    [
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ` +
        `ON DUPLICATE KEY UPDATE ${changed.map((column) => `${column} = VALUES(${column})`).join(', ')}`,
      Object.values(values),
    ],
    ...pairs(table, object),
  ];
}

function pairs(table: string, { uid, labels = {}, annotations = {} }: OriginalObject): readonly Statement[] {
  return Object.entries({ labels, annotations }).flatMap(([part, all]): readonly Statement[] => [
    [`DELETE FROM ${table}_${part} WHERE obj_uid = ?`, [uid]],
    ...Object.entries(all).map(
      ([key, value]): Statement => [
        `INSERT INTO ${table}_${part} (obj_uid, \`key\`, value) VALUES (?, ?, ?)`,
        [uid, key, value],
      ],
    ),
  ]);
}

export function softDelete(table: string, namespace: string, name: string, now: string): Statement {
  return [
    `UPDATE ${table} SET delete_time = ? WHERE namespace = ? AND name = ? AND delete_time IS NULL`,
    [now, namespace, name],
  ];
}

/** Newer: labels and annotations of an object that has left etcd; the version in the row counts up. */
export function directUpdate(table: string, object: OriginalObject, now: string): readonly Statement[] {
  return [
    [
      `SELECT uid, res_version, proto FROM ${table} WHERE namespace = ? AND name = ? AND delete_time IS NULL ` +
        'LIMIT 1 FOR UPDATE',
      [object.namespace, object.name],
    ],
    [
      `UPDATE ${table} SET res_version = ?, update_time = ?, proto = ?, json = ? ` +
        'WHERE uid = ? AND res_version = ? AND delete_time IS NULL',
      [object.resourceVersion, now, object.proto, object.json, object.uid, object.resourceVersion - 1],
    ],
    ...pairs(table, object),
  ];
}

/** Of models: one of them names columns of that kind. */
export const reads: Readonly<Record<string, (table: string, object: OriginalObject) => Statement>> = {
  'by name': (table, { namespace, name }) => [
    `SELECT proto FROM ${table} WHERE namespace = ? AND name = ? AND delete_time IS NULL LIMIT 1`,
    [namespace, name],
  ],
  'by id': (table, { uid }) => [`SELECT proto FROM ${table} WHERE uid = ? AND delete_time IS NULL LIMIT 1`, [uid]],
  'as a list': (table, { namespace }) => [
    `SELECT proto FROM ${table} WHERE delete_time IS NULL AND namespace = ? ORDER BY create_time DESC LIMIT 500`,
    [namespace],
  ],
  'by a label': (table, { labels = {} }) => [
    `WITH labelled AS (SELECT obj_uid FROM ${table}_labels WHERE \`key\` = ? AND value = ?) ` +
      `SELECT t.proto FROM ${table} t WHERE t.delete_time IS NULL AND t.uid IN (SELECT obj_uid FROM labelled)`,
    Object.entries(labels)[0] ?? ['', ''],
  ],
  'in the order of a label': (table, { labels = {} }) => [
    `WITH ordered AS (SELECT obj_uid, value FROM ${table}_labels WHERE \`key\` = ?) ` +
      `SELECT uid, group_ver, namespace, name, res_version, create_time, update_time, proto FROM ${table} ` +
      'INNER JOIN ordered ON (uid = ordered.obj_uid) WHERE delete_time IS NULL ORDER BY ordered.value DESC LIMIT 50',
    [Object.keys(labels)[0] ?? ''],
  ],
  'without a label': (table) => [
    `SELECT t.proto FROM ${table} t WHERE t.delete_time IS NULL AND NOT EXISTS ` +
      `(SELECT 1 FROM ${table}_labels l WHERE l.obj_uid = t.uid AND l.\`key\` = ?)`,
    ['no-such-label'],
  ],
  /** As ListOptionsExt has them: conditions on fields, labels and names, in a tree of AND and OR, with an order and a page. */
  'by a tree of criteria': (table, { namespace, indexed, labels = {} }) => [
    `SELECT proto FROM ${table} WHERE delete_time IS NULL AND namespace = ? AND ` +
      `((algorithm = ? AND revision_id >= ? AND (owner != ? OR source IS NULL)) OR description LIKE ?) AND ` +
      `(training_framework IN (?, ?) AND model_kind IS NOT NULL) AND ` +
      `uid IN (SELECT obj_uid FROM ${table}_labels WHERE \`key\` = ? AND value = ?) ` +
      'ORDER BY create_time DESC, name ASC, algorithm ASC LIMIT 50 OFFSET 0',
    [
      ...[namespace, indexed['algorithm'] ?? null, indexed['revision_id'] ?? null, 'another owner', 'begins so%'],
      ...[indexed['training_framework'] ?? null, 'another framework'],
      ...(Object.entries(labels)[0] ?? ['', '']),
    ],
  ],
};
