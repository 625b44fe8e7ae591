// A million objects as fast as the server can make them: rows are computed in SQL, in the order of their keys.
import type { BundleDatabase } from '../../hack/local/bundle-database.ts';
import type { KindDefinition } from '../../src/api/kind.ts';

const CHUNK = 50_000;
/** Labels of each object: the number of values is how many objects share one. */
export const bulkLabels = [
  { key: 'bench/one-in-1000', values: 1000 },
  { key: 'bench/one-in-20', values: 20 },
] as const;

/** The uid of object `n`: in no order, as uids are. */
const UID = "INSERT(INSERT(INSERT(INSERT(LEFT(SHA2(`n`, 256), 32), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-')";

/** Needs the right to create tables. `rows`: a multiple of 50,000, or less than it. */
export async function bulkLoad(database: BundleDatabase, kind: KindDefinition, rows: number): Promise<void> {
  await database.query('DROP TABLE IF EXISTS `bench_numbers`');
  await database.query(
    'CREATE TABLE `bench_numbers` (`uid` CHAR(36) CHARACTER SET ascii NOT NULL PRIMARY KEY, `n` INT NOT NULL)',
  );
  for (let start = 0; start < rows; start += CHUNK) {
    const count = Math.min(CHUNK, rows - start);
    await database.query(`INSERT INTO \`bench_numbers\` (\`uid\`, \`n\`) ${numbered(start, count)}`);
  }
  for (const [low, high] of uidRanges(rows)) {
    const range = `FROM \`bench_numbers\` WHERE \`uid\` >= '${low}' AND \`uid\` < '${high}' ORDER BY \`uid\``;
    await database.query(`${mainInsert(kind)} ${range}`);
    for (const label of bulkLabels) await database.query(`${labelInsert(kind, label)} ${range}`);
  }
  await database.query('DROP TABLE `bench_numbers`');
  await database.query(`ANALYZE TABLE \`${kind.table}\`, \`${kind.table}_labels\``);
}

function numbered(start: number, count: number): string {
  const digit = (name: string): string =>
    `(${Array.from({ length: 10 }, (_, index) => `SELECT ${index} AS \`d\``).join(' UNION ALL ')}) \`${name}\``;
  const number = `${start} + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d`;
  const digits = ['a', 'b', 'c', 'e', 'f'].map(digit).join(', ');
  return `SELECT ${UID}, \`n\` FROM (SELECT ${number} AS \`n\` FROM ${digits}) \`numbers\` WHERE \`n\` < ${start + count}`;
}

/** Uids begin with a hexadecimal digit, so ranges of equal width hold about equally many. */
function uidRanges(rows: number): readonly (readonly [string, string])[] {
  const parts = Math.max(1, Math.min(256, Math.ceil(rows / CHUNK)));
  const bound = (index: number): string =>
    index === parts
      ? 'g'
      : Math.floor((index * 65_536) / parts)
          .toString(16)
          .padStart(4, '0');
  return Array.from({ length: parts }, (_, index) => [bound(index), bound(index + 1)] as const);
}

const CREATED = "DATE_ADD('2026-01-01 00:00:00.000000', INTERVAL `n` SECOND)";

function mainInsert(kind: KindDefinition): string {
  const values: Readonly<Record<string, string>> = {
    uid: '`uid`',
    group_ver: "'michelangelo.api/v2'",
    namespace: "CONCAT('project-', `n` % 50)",
    name: "CONCAT('object-', `n`)",
    res_version: '`n` + 1',
    generation: '1',
    content_hash: "REPEAT('0', 64)",
    create_time: CREATED,
    update_time: CREATED,
    own_update_time: CREATED,
    delete_time: "IF(`n` % 10 = 9, '2026-06-01', NULL)",
    row_state: 'IF(`n` % 10 = 9, 2, 0)',
    proto: "REPEAT('p', 200)",
    json: 'CONCAT(\'{"metadata":{"name":"object-\', `n`, \'"},"spec":{"text":"\', REPEAT(\'x\', 200), \'"}}\')',
  };
  const columns = Object.keys(values).map((column) => `\`${column}\``);
  return `INSERT INTO \`${kind.table}\` (${columns.join(', ')}) SELECT ${Object.values(values).join(', ')}`;
}

function labelInsert(kind: KindDefinition, { key, values }: (typeof bulkLabels)[number]): string {
  return (
    `INSERT INTO \`${kind.table}_labels\` (\`obj_uid\`, \`key\`, \`value\`, \`obj_create_time\`) ` +
    `SELECT \`uid\`, '${key}', CONCAT('v', FLOOR(\`n\` / 7) % ${values}), ${CREATED}`
  );
}
