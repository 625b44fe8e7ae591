import type { KindDefinition } from '../api/kind.ts';
import { catalogue } from './catalogue.ts';
import type { TableNames } from './kind-names.ts';

/** Under the table names that the original gives them unless told otherwise. */
export const allKinds: readonly KindDefinition[] = catalogue;

/** The 13 kinds that are ingested unless the configuration says otherwise. */
export const defaultKinds: readonly KindDefinition[] = catalogue.filter((kind) => !kind.optional);

const byName = new Map(catalogue.map((kind) => [kind.kind, kind]));

export function findKind(name: string): KindDefinition | undefined {
  return byName.get(name);
}

const snakeCased = new Map(
  catalogue.map((kind) => [kind.kind, { ...kind, table: kind.kind.replace(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase() }]),
);

const namedTables = new WeakMap<KindDefinition, Map<TableNames, KindDefinition>>();

/** The kind under the name that its tables have; the same object for the same kind every time. */
export function kindUnder(kind: KindDefinition, tables: TableNames): KindDefinition {
  const table = (tables === 'snake_case' ? snakeCased : byName).get(kind.kind)?.table;
  if (table === undefined || table === kind.table) return kind;
  const known = namedTables.get(kind) ?? new Map<TableNames, KindDefinition>();
  namedTables.set(kind, known);
  const named = known.get(tables) ?? { ...kind, table };
  known.set(tables, named);
  return named;
}

/** The kinds of these names under their tables; the same object for the same kind every time. Unknown names are left out. */
export function kindsNamed(names: readonly string[], tables: TableNames): readonly KindDefinition[] {
  const source = tables === 'snake_case' ? snakeCased : byName;
  return names.map((name) => source.get(name)).filter((kind) => kind !== undefined);
}

/** Every kind there is, under its tables. */
export function kindsUnder(tables: TableNames): readonly KindDefinition[] {
  return kindsNamed([...byName.keys()], tables);
}
