import { ServerUnsupportedError } from '../errors.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import type { SqlSession } from './pool.ts';

/**
 * Throws where the server is of a line that is not supported, before anything is read or written. What an older one than
 * the oldest that is tested does with our statements is not known.
 */
export async function refuseOldServer(session: SqlSession): Promise<void> {
  const [row] = await session.query('SELECT VERSION()');
  const reason = unsupported(String(row?.[0]), session.dialect);
  if (reason !== undefined) throw new ServerUnsupportedError(reason);
}

/** Why a server that says this of itself is not supported. A text without a version is not judged. */
export function unsupported(version: string, dialect: Dialect = dialectOf(version)): string | undefined {
  // MariaDB may put the version of an old MySQL before its own.
  const [, number, major, minor] = /^(?:5\.5\.5-)?((\d+)\.(\d+)(?:\.\d+)?)/.exec(version) ?? [];
  if (number === undefined) return undefined;
  const { product, oldest } = dialect;
  const [least, beside] = oldest;
  if (Number(major) > least || (Number(major) === least && Number(minor) >= beside)) return undefined;
  return `the server is ${product} ${number}, and the oldest that is tested is ${least}.${beside}`;
}
