import type { BundleDatabase } from '../../hack/local/bundle-database.ts';

/** Everything about the tables of a database that could differ between two of them, and what the migrations noted. */
export async function schemaPicture(database: BundleDatabase): Promise<readonly unknown[]> {
  const here = "table_schema = DATABASE() AND table_name <> 'ingester_duplicates'";
  const queries = [
    `SELECT table_name AS t, engine AS e, table_collation AS c FROM information_schema.tables WHERE ${here} ORDER BY 1`,
    'SELECT table_name AS t, column_name AS c, ordinal_position AS o, column_type AS ty, is_nullable AS n, ' +
      `collation_name AS co, column_default AS d, extra AS e FROM information_schema.columns WHERE ${here} ORDER BY 1, 3`,
    'SELECT table_name AS t, index_name AS i, seq_in_index AS s, column_name AS c, non_unique AS n ' +
      `FROM information_schema.statistics WHERE ${here} ORDER BY 1, 2, 3`,
    'SELECT name, checksum, uncertain, position, applied_at IS NOT NULL AS applied FROM ingester_migrations ORDER BY 1',
    'SELECT closed_by, reason, schema_version, min_reader, min_writer, table_names FROM ingester_gate',
  ];
  const answers: unknown[] = [];
  for (const query of queries) answers.push(...(await database.query(query)));
  return answers;
}
