import type { SchemaVersion } from '../metadata-storage.ts';
import { readGate } from './gate.ts';
import type { SqlSession } from './pool.ts';

/** Counts a migration only when it is complete. */
export async function readSchemaVersion(session: SqlSession): Promise<SchemaVersion> {
  return { current: (await readGate(session)).range.version };
}
