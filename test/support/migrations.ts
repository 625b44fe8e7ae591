import type { KindDefinition } from '../../src/api/kind.ts';
import { systemClock } from '../../src/base/clock.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import type { MysqlAccess } from '../../src/storage/mysql/access.ts';
import { type MigrateOptions, type MigrationReport, migrate } from '../../src/storage/mysql/tasks/migrate.ts';
import { maskedValues } from '../../src/storage/sensitive.ts';
import { readOriginal } from '../../src/sync/original-row.ts';

/** As `ingester task migrate` runs it, without the rests between the pages of a back-fill. */
export function migrationOptions(access: MysqlAccess, kinds: readonly KindDefinition[] = allKinds): MigrateOptions {
  return {
    access,
    kinds,
    tableNames: 'lowercase',
    readOriginal: (kind, row) => readOriginal(kind, row, maskedValues),
    clock: systemClock,
    restFactor: 0,
  };
}

export function migrateAll(access: MysqlAccess): Promise<MigrationReport> {
  return migrate(migrationOptions(access));
}

/** Names of the tables of a kind. */
export function tablesOf({ table }: KindDefinition): readonly string[] {
  return [table, `${table}_labels`, `${table}_annotations`];
}

/** The table that a statement of a migration is about. */
export function tableIn(statement: string): string {
  return /`(\w+)`/.exec(statement)?.[1] ?? '';
}
