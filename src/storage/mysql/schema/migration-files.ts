import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { KindDefinition } from '../../../api/kind.ts';
import { sha256Hex } from '../../../base/hash.ts';
import { programFile } from '../../../base/program-files.ts';
import type { TableNames } from '../../../kinds/kind-names.ts';
import { allKinds, kindsUnder } from '../../../kinds/kinds.ts';

/** One file of schema/migrations. The name orders and identifies it; the content never changes after a release. */
export interface Migration {
  readonly name: string;
  /** SHA-256 of what the file does: its statements and its header, whatever the tables are called. */
  readonly checksum: string;
  readonly statements: readonly string[];
  /** Missing for the tables of an optional kind, which change nothing for the other kinds. */
  readonly version?: SchemaStep;
}

/** What the header of a numbered file says: which programs may use the database from then on. */
export interface SchemaStep {
  readonly number: number;
  readonly minReader: number;
  readonly minWriter: number;
  /** `closed`: no writes while it runs. */
  readonly gate: 'open' | 'closed';
}

/** That a column has the collation of its table makes no other table, and databases of before were made without it. */
const COLLATION_OF_TABLE = ' CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

const folder = programFile('schema/migrations');

/** The numbered migrations, plus the tables of the optional kinds that are switched on. */
export function migrationsFor(
  kinds: readonly KindDefinition[],
  tables: TableNames = 'lowercase',
): readonly Migration[] {
  const numbered = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const optional = kinds.filter((kind) => kind.optional).map(({ kind }) => `optional/${kind.toLowerCase()}.sql`);
  return [...numbered.sort(), ...optional].map((path) =>
    parseMigration(basename(path, '.sql'), readFileSync(join(folder, path), 'utf8'), tables),
  );
}

/** Every migration of this version, whether or not it is switched on: none of these makes a database "newer". */
export function knownMigrationNames(): readonly string[] {
  return [...readdirSync(folder), ...readdirSync(join(folder, 'optional'))]
    .filter((name) => name.endsWith('.sql'))
    .map((name) => basename(name, '.sql'));
}

export function parseMigration(name: string, text: string, tables: TableNames = 'lowercase'): Migration {
  const number = Number(/^(\d{4})-/.exec(name)?.[1] ?? '0');
  const header = (key: string): string => new RegExp(`^-- ${key}: (\\w+)$`, 'm').exec(text)?.[1] ?? '';
  const step = {
    number,
    minReader: Number(header('minReader')),
    minWriter: Number(header('minWriter')),
    gate: header('gate') === 'closed' ? ('closed' as const) : ('open' as const),
  };
  return {
    name,
    checksum: sha256Hex(JSON.stringify([step, statementsOf(text.replaceAll(COLLATION_OF_TABLE, ''))])),
    statements: statementsOf(renameTables(text, tables)),
    ...(number === 0 ? {} : { version: step }),
  };
}

/** Comments are whole lines, and a semicolon ends a line only where a statement ends. */
export function statementsOf(sql: string): readonly string[] {
  return sql
    .replace(/^--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** The files name tables, and the keys that begin with their names, as the catalogue does. */
function renameTables(sql: string, tables: TableNames): string {
  const renamed = new Map(kindsUnder(tables).map(({ table }, index) => [allKinds[index]?.table, table]));
  return sql.replace(/`([a-z]+)(?=[_`])/g, (_whole, name: string) => `\`${renamed.get(name) ?? name}`);
}
