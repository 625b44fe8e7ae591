// Which versions of the program and of the schema suit each other. A version is the number of the newest migration.
import { SchemaNewerError, SchemaOlderError } from './errors.ts';

/** The schema version and range in the database. */
export interface SchemaRange {
  /** Number of the newest migration applied; 0 before the first one is complete. */
  readonly version: number;
  /** The oldest programs that may read and write. */
  readonly minReader: number;
  readonly minWriter: number;
}

/** The schema version and range of a program. */
export interface SupportedSchema {
  /** The newest migration it knows. */
  readonly version: number;
  /** The oldest schema it can work with. */
  readonly oldest: number;
}

export const supportedSchema: SupportedSchema = { version: 2, oldest: 2 };

export function refuseUnsupported(
  range: SchemaRange,
  use: 'read' | 'write',
  supported: SupportedSchema = supportedSchema,
): void {
  const needed = use === 'read' ? range.minReader : range.minWriter;
  if (supported.version < needed) throw new SchemaNewerError(range.version, needed, supported.version);
  if (range.version < supported.oldest) throw new SchemaOlderError(range.version, supported.oldest);
}
