// Writes one object per transaction, statement by statement as the original program does: upsert, then labels and
// annotations deleted and inserted one at a time. Its driver prepares, executes and closes every statement, because its
// DSN does not ask for client-side parameters; `prepared: 'kept'` is the kinder variant that prepares once.
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from 'mysql2/promise';
import type { KindDefinition } from '../../src/api/kind.ts';
import { toSqlTime } from '../../src/storage/mysql/sql-time.ts';
import type { ObjectRow } from '../../src/storage/row.ts';

/** The tables as deployed by the original, beside ours. */
export function originalTables(kind: KindDefinition, prefix: string): readonly string[] {
  const table = `${prefix}${kind.table}`;
  const options = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
  const columns = kind.indexes
    .flat()
    .map(({ name, type }) => `\`${name}\` ${type === 'time' ? 'DATETIME' : 'VARCHAR(255)'},`);
  const pairs = (part: string, value: string, keys: string): string =>
    `CREATE TABLE \`${table}_${part}\` (\`id\` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, \`obj_uid\` VARCHAR(255) NOT NULL, ` +
    `\`key\` VARCHAR(255) NOT NULL, \`value\` ${value}, KEY \`${table}_${part}_uid\` (\`obj_uid\`)${keys}) ${options}`;
  return [
    `CREATE TABLE \`${table}\` (\`uid\` VARCHAR(255) NOT NULL PRIMARY KEY, \`group_ver\` VARCHAR(255) NOT NULL, ` +
      '`namespace` VARCHAR(255) NOT NULL, `name` VARCHAR(255) NOT NULL, `res_version` BIGINT UNSIGNED NOT NULL, ' +
      '`create_time` DATETIME NOT NULL, `update_time` DATETIME, `delete_time` DATETIME, `proto` MEDIUMBLOB, `json` JSON, ' +
      `${columns.join(' ')} KEY (\`namespace\`, \`name\`), KEY (\`create_time\`), ` +
      `KEY (\`pipeline_namespace\`, \`pipeline_name\`), KEY (\`state\`)) ${options}`,
    pairs('labels', 'VARCHAR(63)', `, KEY \`${table}_labels_key_value\` (\`key\`, \`value\`)`),
    pairs('annotations', 'TEXT', ''),
  ];
}

const DEADLOCK = 1213;

export type Preparing = 'each-time' | 'kept';
type Parameter = string | number | boolean | null | Buffer;

export class OriginalWriter {
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #preparing: Preparing;

  constructor(connection: Connection, prefix: string, preparing: Preparing) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#preparing = preparing;
  }

  /** Its deletes take gap locks, so writers deadlock; the controller then tries again, first after 5 ms. */
  async upsert(row: ObjectRow): Promise<void> {
    for (let delayMs = 5; ; delayMs *= 2) {
      try {
        await this.#upsertOnce(row);
        return;
      } catch (error) {
        if ((error as { errno?: number }).errno !== DEADLOCK) throw error;
        await this.#connection.query('ROLLBACK');
        await delay(delayMs);
      }
    }
  }

  async #upsertOnce(row: ObjectRow): Promise<void> {
    const table = `${this.#prefix}${row.kind.table}`;
    await this.#connection.query('START TRANSACTION');
    await this.#execute(...this.#upsertStatement(table, row));
    for (const part of ['labels', 'annotations'] as const) {
      await this.#execute(`DELETE FROM \`${table}_${part}\` WHERE obj_uid = ?`, [row.uid]);
      for (const [key, value] of row[part]) {
        const sql = `INSERT INTO \`${table}_${part}\` (obj_uid, \`key\`, value) VALUES (?, ?, ?)`;
        await this.#execute(sql, [row.uid, key, value]);
      }
    }
    await this.#connection.query('COMMIT');
  }

  #upsertStatement(table: string, row: ObjectRow): [string, Parameter[]] {
    const indexed = row.kind.indexes.flat().map(({ name }) => name);
    const updated = ['res_version', 'update_time', 'proto', 'json', ...indexed];
    const columns = ['uid', 'group_ver', 'namespace', 'name', 'create_time', ...updated];
    const now = toSqlTime(new Date().toISOString());
    const { uid, groupVersion, namespace, name, createTime, resourceVersion, json } = row;
    const proto = Buffer.from(row.proto);
    return [
      `INSERT INTO \`${table}\` (${columns.map((column) => `\`${column}\``).join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ` +
        `ON DUPLICATE KEY UPDATE ${updated.map((column) => `\`${column}\` = VALUES(\`${column}\`)`).join(', ')}`,
      [uid, groupVersion, namespace, name, toSqlTime(createTime), resourceVersion, now, proto, json, ...row.columns],
    ];
  }

  async #execute(sql: string, parameters: Parameter[]): Promise<void> {
    await this.#connection.execute(sql, parameters);
    if (this.#preparing === 'each-time') this.#connection.unprepare(sql);
  }
}
