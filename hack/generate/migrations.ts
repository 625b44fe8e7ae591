import type { KindDefinition } from '../../src/api/kind.ts';
import { createTables, systemTables } from '../../src/storage/mysql/schema/tables.ts';
import { generatedNotice, type Output } from './output.ts';

const notice =
  generatedNotice('--', 'src/kinds/catalogue.ts') +
  '-- After the first release this file is frozen; later changes are migrations of their own.\n' +
  '-- minReader: 1\n-- minWriter: 1\n-- gate: open\n';

/** The tables of the default kinds in one migration, and one file for each optional kind. */
export function migrationOutputs(kinds: readonly KindDefinition[]): readonly Output[] {
  const tables = [...systemTables(), ...kinds.filter((kind) => !kind.optional).flatMap(createTables)];
  const optional = kinds
    .filter((kind) => kind.optional)
    .map((kind) => ({
      path: `schema/migrations/optional/${kind.table}.sql`,
      content: `${notice}\n${createTables(kind).join('\n')}`,
    }));
  return [{ path: 'schema/migrations/0001-tables.sql', content: `${notice}\n${tables.join('\n')}` }, ...optional];
}
