// Who is connected to the server. `information_schema.processlist` would say so too, but on MySQL it fails while anybody
// sends bytes that are no text: it converts the statements that run, values included, even if nobody asks for them.
import type { SqlRow } from './pool.ts';

/** Shows all connections to whoever has the right PROCESS, and to others those of their own user. */
export const SHOW_CONNECTIONS = 'SHOW PROCESSLIST';

export interface ServerConnection {
  readonly id: number;
  readonly user: string;
  /** Null while it uses none. */
  readonly database: string | null;
}

/** Of a row of `SHOW_CONNECTIONS`; both servers begin with the same columns. */
export function connectionOf([id, user, _host, database]: SqlRow): ServerConnection {
  return { id: Number(id), user: String(user), database: database as string | null };
}
