// How the tables are spread over the shards of a Vitess: schema/vitess.
import type { KindDefinition } from '../../src/api/kind.ts';
import { kindsUnder } from '../../src/kinds/kinds.ts';
import { tablesOf } from '../../src/storage/mysql/schema/tables.ts';
import type { Output } from './output.ts';

/** As `mysql.database` names it. */
const SHARDED = 'michelangelo';
const UNSHARDED = 'michelangelo_global';

/** Of no kind. Each is asked as a whole or is one row, so none of them is spread. */
const BESIDE_KINDS = [
  'ingester_attempts',
  'ingester_clusters',
  'ingester_duplicates',
  'ingester_fence',
  'ingester_gate',
  'ingester_migrations',
  'ingester_positions',
];

/** Under both namings: a table that is not there needs no shard. */
export function vitessOutputs(kinds: readonly KindDefinition[]): readonly Output[] {
  const known = new Set(kinds.map(({ kind }) => kind));
  const named = (['lowercase', 'snake_case'] as const).flatMap((names) => kindsUnder(names));
  const mains = new Map(named.filter(({ kind }) => known.has(kind)).map((kind) => [kind.table, tablesOf(kind)]));
  const spread = [...mains.values()].flat().sort();
  const tables = spread.map((table) => [table, { column_vindexes: [{ column: uidOf(table, mains), name: 'by_uid' }] }]);
  const sharded = {
    sharded: true,
    vindexes: { by_uid: { type: 'xxhash' } },
    tables: Object.fromEntries(tables) as Readonly<Record<string, object>>,
  };
  const unsharded = { sharded: false, tables: Object.fromEntries(BESIDE_KINDS.map((table) => [table, {}])) };
  const rules = BESIDE_KINDS.map((table) => ({
    from_table: `${SHARDED}.${table}`,
    to_tables: [`${UNSHARDED}.${table}`],
  }));
  return [
    output(`${SHARDED}.vschema.json`, sharded),
    output(`${UNSHARDED}.vschema.json`, unsharded),
    output('routing-rules.json', { rules }),
  ];
}

function uidOf(table: string, mains: ReadonlyMap<string, readonly string[]>): string {
  return mains.has(table) ? 'uid' : 'obj_uid';
}

function output(name: string, content: object): Output {
  return { path: `schema/vitess/${name}`, content: `${JSON.stringify(content, null, 2)}\n` };
}
