import { ServerUnsupportedError } from '../errors.ts';
import type { SqlSession } from './pool.ts';

/** The oldest lines that the tests run on. What an older one does with our statements is not known. */
const OLDEST = { MySQL: [8, 4], MariaDB: [10, 11] } as const;

/** Throws where the server is of a line that is not supported, before anything is read or written. */
export async function refuseOldServer(session: SqlSession): Promise<void> {
  const [row] = await session.query('SELECT VERSION()');
  const reason = unsupported(String(row?.[0]));
  if (reason !== undefined) throw new ServerUnsupportedError(reason);
}

/** Why a server that says this of itself is not supported. A text without a version is not judged. */
export function unsupported(version: string): string | undefined {
  // MariaDB may put the version of an old MySQL before its own.
  const [, number, major, minor] = /^(?:5\.5\.5-)?((\d+)\.(\d+)(?:\.\d+)?)/.exec(version) ?? [];
  if (number === undefined) return undefined;
  const product = /mariadb/i.test(version) ? 'MariaDB' : 'MySQL';
  const [least, beside] = OLDEST[product];
  if (Number(major) > least || (Number(major) === least && Number(minor) >= beside)) return undefined;
  return `the server is ${product} ${number}, and the oldest that is tested is ${least}.${beside}`;
}
