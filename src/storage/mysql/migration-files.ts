import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { KindDefinition } from '../../api/kind.ts';
import type { Migration } from './migrate.ts';

const folder = new URL('../../../schema/migrations/', import.meta.url);

/** The numbered migrations, plus the tables of the optional kinds that are switched on. */
export function migrationsFor(kinds: readonly KindDefinition[]): readonly Migration[] {
  const numbered = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const optional = kinds.filter((kind) => kind.optional).map((kind) => `optional/${kind.table}.sql`);
  return [...numbered.sort(), ...optional].map(readMigration);
}

/** Every migration of this version, whether or not it is switched on: none of these makes a database "newer". */
export function knownMigrationNames(): readonly string[] {
  return [...readdirSync(folder), ...readdirSync(new URL('optional/', folder))]
    .filter((name) => name.endsWith('.sql'))
    .map((name) => basename(name, '.sql'));
}

function readMigration(path: string): Migration {
  return { name: basename(path, '.sql'), sql: readFileSync(new URL(path, folder), 'utf8') };
}
