// Column lists and DDL of the three tables of a kind. The numbered migrations are generated from here.
import { type ColumnIndex, columnLength, type IndexedColumn, type KindDefinition } from '../../../api/kind.ts';

/** Longest label or annotation key: a DNS prefix of 253, a slash and a name of 63. */
export const KEY_LENGTH = 317;
export const LABEL_VALUE_LENGTH = 63;
export const UID_LENGTH = 64;
/** Characters of the reason why a row was marked deleted. */
export const REASON_LENGTH = 255;

export const tablesOf = (kind: KindDefinition): readonly string[] => [
  kind.table,
  `${kind.table}_labels`,
  `${kind.table}_annotations`,
];

function sqlType(column: IndexedColumn): string {
  switch (column.type) {
    case 'string':
    case 'enum':
      return `VARCHAR(${columnLength(column)})`;
    case 'int':
      return 'INT';
    case 'bool':
      return 'BOOLEAN';
    case 'time':
      return 'DATETIME(6)';
  }
}

const tableOptions = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

/** A reference's key carries the name both columns share: identifiers end at 64 characters. */
function keyName(columns: ColumnIndex): string {
  const first = columns[0]?.name ?? '';
  return columns.length === 1 ? first : first.replace(/_namespace$/, '');
}

/** The original's statements name its own columns only, so every other one has a default. */
export const NO_TIME = '1970-01-01 00:00:00.000000';

function mainTable(kind: KindDefinition): string {
  const indexed = kind.indexes.flat().map((column) => `  \`${column.name}\` ${sqlType(column)}`);
  const keys = kind.indexes.map((columns) => {
    const names = columns.map((column) => `\`${column.name}\``).join(', ');
    return `  KEY \`${kind.table}_${keyName(columns)}\` (${names})`;
  });
  const lines = [
    `  \`uid\` VARCHAR(${UID_LENGTH}) NOT NULL`,
    '  `group_ver` VARCHAR(128) NOT NULL',
    '  `namespace` VARCHAR(253) NOT NULL',
    '  `name` VARCHAR(253) NOT NULL',
    '  `res_version` BIGINT UNSIGNED NOT NULL',
    '  `generation` BIGINT NOT NULL DEFAULT 0',
    "  `content_hash` CHAR(64) NOT NULL DEFAULT ''",
    '  `labels_hash` BINARY(16)',
    '  `annotations_hash` BINARY(16)',
    '  `create_time` DATETIME(6) NOT NULL',
    '  `update_time` DATETIME(6) NOT NULL',
    '  `own_update_time` DATETIME(6)',
    `  \`object_uid\` VARCHAR(${UID_LENGTH})`,
    '  `delete_time` DATETIME(6)',
    '  `evict_request_time` DATETIME(6)',
    '  `evict_time` DATETIME(6)',
    '  `row_state` TINYINT UNSIGNED NOT NULL DEFAULT 0',
    `  \`delete_reason\` VARCHAR(${REASON_LENGTH})`,
    '  `proto` LONGBLOB NOT NULL',
    '  `json` JSON NOT NULL',
    ...indexed,
    '  PRIMARY KEY (`uid`)',
    `  KEY \`${kind.table}_namespace_name\` (\`namespace\`, \`name\`)`,
    `  KEY \`${kind.table}_namespace_timestamp\` (\`namespace\`, \`delete_time\`, \`create_time\`)`,
    `  KEY \`${kind.table}_timestamp\` (\`delete_time\`, \`create_time\`)`,
    `  KEY \`${kind.table}_create_time\` (\`create_time\`)`,
    `  KEY \`${kind.table}_update_time\` (\`update_time\`)`,
    `  KEY \`${kind.table}_row_state\` (\`row_state\`)`,
    `  KEY \`${kind.table}_object_uid\` (\`object_uid\`)`,
    `  KEY \`${kind.table}_tombstone\` (\`row_state\`, \`namespace\`, \`name\`, \`create_time\`)`,
    ...keys,
  ];
  return createTable(kind.table, lines);
}

/** The creation time never changes; with it the key finds the objects with a label newest first. */
function labelTable(kind: KindDefinition): string {
  return createTable(`${kind.table}_labels`, [
    `  \`obj_uid\` VARCHAR(${UID_LENGTH}) NOT NULL`,
    `  \`key\` VARCHAR(${KEY_LENGTH}) NOT NULL`,
    `  \`value\` VARCHAR(${LABEL_VALUE_LENGTH}) NOT NULL`,
    `  \`obj_create_time\` DATETIME(6) NOT NULL DEFAULT '${NO_TIME}'`,
    '  PRIMARY KEY (`obj_uid`, `key`)',
    `  KEY \`${kind.table}_labels_key_value\` (\`key\`, \`value\`, \`obj_create_time\`, \`obj_uid\`)`,
  ]);
}

function annotationTable(kind: KindDefinition): string {
  return createTable(`${kind.table}_annotations`, [
    `  \`obj_uid\` VARCHAR(${UID_LENGTH}) NOT NULL`,
    `  \`key\` VARCHAR(${KEY_LENGTH}) NOT NULL`,
    '  `value` MEDIUMTEXT NOT NULL',
    '  PRIMARY KEY (`obj_uid`, `key`)',
  ]);
}

const TEXT_TYPE = /^( {2}`\w+` (?:(?:VAR)?CHAR\(\d+\)|MEDIUMTEXT))/;

/**
 * Columns of text say their collation themselves, though it is the table's. What SHOW CREATE TABLE says of one that does not
 * makes a table of which it says more, and a new shard of Vitess, whose tables are made so, is refused as different.
 */
export function createTable(name: string, lines: readonly string[]): string {
  const columns = lines.map((line) => line.replace(TEXT_TYPE, '$1 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'));
  return `CREATE TABLE IF NOT EXISTS \`${name}\` (\n${columns.join(',\n')}\n) ${tableOptions};\n`;
}

/**
 * CREATE TABLE statements of one kind; each ends with a semicolon and a newline.
 * @public The generator of the migrations calls it.
 */
export function createTables(kind: KindDefinition): readonly string[] {
  return [mainTable(kind), labelTable(kind), annotationTable(kind)];
}

/**
 * The tables that belong to no kind. The gate is one row, so that locking it orders writers and the task that closes it
 * or changes the schema; `closed_by` NULL means open. The row also says what the schema is and which versions it suits.
 * A position is the resourceVersion up to which everything of a kind is stored.
 */
export const SYSTEM_TABLES = ['ingester_gate', 'ingester_positions'] as const;

export function systemTables(): readonly string[] {
  return [
    createTable('ingester_gate', [
      '  `id` TINYINT UNSIGNED NOT NULL',
      '  `closed_by` VARCHAR(253)',
      '  `reason` VARCHAR(1024)',
      '  `changed_at` DATETIME(6)',
      '  `schema_version` INT UNSIGNED NOT NULL DEFAULT 0',
      '  `min_reader` INT UNSIGNED NOT NULL DEFAULT 0',
      '  `min_writer` INT UNSIGNED NOT NULL DEFAULT 0',
      '  `table_names` VARCHAR(16)',
      '  PRIMARY KEY (`id`)',
    ]),
    'INSERT IGNORE INTO `ingester_gate` (`id`) VALUES (1);\n',
    createTable('ingester_positions', [
      '  `kind` VARCHAR(253) NOT NULL',
      '  `res_version` BIGINT UNSIGNED NOT NULL',
      '  `recorded_at` DATETIME(6) NOT NULL',
      '  PRIMARY KEY (`kind`)',
    ]),
  ];
}
