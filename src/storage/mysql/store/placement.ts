// Which row an object has, found under the locks of the rows that it might be.
//
// An object keeps the row it has, whatever its annotation says by now. A new one gets the row of its key: a free one, or
// that of the object which had the name and the key before it, as after a move to another cluster. Versions of two
// clusters do not compare, so of two objects the later one is newer: by its creation, within a second by its version.
// A row is not taken from an object of another name, nor from one that was evicted: it may be the only copy. The object
// then has a row under its own uid, which it can always have.
import type { KindDefinition } from '../../../api/kind.ts';
import { RowsHeldError } from '../../errors.ts';
import { padded } from '../chunks.ts';
import type { Dialect } from '../dialect.ts';
import { shardUnavailable } from '../mysql-errors.ts';
import type { SqlParameter } from '../parameters.ts';
import type { SqlSession } from '../pool.ts';
import { readPairRows } from '../read/pairs.ts';
import { otherKeys } from '../read/row-keys.ts';
import { BY_KEY, FOREIGN_SQL, rowColumnNames, rowStateNumber, STATE_SQL, statementsFor } from '../schema/statements.ts';
import { tablesOf } from '../schema/tables.ts';
import { fromSqlTime, toSqlTime } from '../sql-time.ts';
import type { PendingWrite } from './pending-write.ts';
import type { ShardsAway } from './shards-away.ts';

const ER_LOCK_WAIT_TIMEOUT = 1205;
const NONE: ReadonlySet<string> = new Set();

export interface LockedRow {
  readonly resourceVersion: string;
  readonly state: number;
  readonly labelsHash: Buffer | null;
  readonly annotationsHash: Buffer | null;
  /** The original wrote it since. */
  readonly foreign: boolean;
  /** Undefined where it is the key. */
  readonly objectUid: string | undefined;
}

export interface Placed {
  readonly write: PendingWrite;
  readonly key: string;
  /** The row that the object has; `of a later one`: a later object has it. */
  readonly stored: LockedRow | 'of a later one' | undefined;
  /** The key that it was to have, and that another object has. */
  readonly taken?: string;
}

/** The rows that objects might have, locked. */
export interface LockedRows {
  readonly byKey: ReadonlyMap<string, LockedRow>;
  /** Of the objects whose rows have another key than their uid, as it was when they were found: the key by uid. */
  readonly keys: ReadonlyMap<string, string>;
}

/** RowsHeldError where a foreign transaction keeps some of them locked. */
export async function lockRows(
  session: SqlSession,
  kind: KindDefinition,
  writes: readonly PendingWrite[],
  shards?: ShardsAway,
): Promise<LockedRows> {
  try {
    return await waitForRows(session, kind, writes, shards);
  } catch (error) {
    if ((error as { readonly errno?: number }).errno !== ER_LOCK_WAIT_TIMEOUT) throw error;
    const uids = await heldUids(session, kind, writes).catch(() => NONE);
    throw uids.size === 0 ? error : new RowsHeldError(uids);
  }
}

/** Asked in the transaction that waited in vain, of which the server has undone no more than the statement. */
async function heldUids(
  session: SqlSession,
  kind: KindDefinition,
  writes: readonly PendingWrite[],
): Promise<ReadonlySet<string>> {
  const keys = await otherKeys(
    session,
    kind,
    writes.map(({ row }) => row.uid),
  );
  const keysOf = ({ row }: PendingWrite): string[] => [row.uid, row.key ?? row.uid, keys.get(row.uid) ?? row.uid];
  const parameters = padded([...new Set(writes.flatMap(keysOf))]);
  const places = parameters.map(() => '?').join(', ');
  const there = `SELECT \`uid\` FROM \`${kind.table}\` ${BY_KEY} WHERE \`uid\` IN (${places})`;
  const held = new Set((await session.query(there, parameters)).map(([key]) => String(key)));
  for (const [key] of await session.query(`${there} FOR UPDATE SKIP LOCKED`, parameters)) held.delete(String(key));
  return new Set(writes.filter((write) => keysOf(write).some((key) => held.has(key))).map(({ row }) => row.uid));
}

async function waitForRows(
  session: SqlSession,
  kind: KindDefinition,
  writes: readonly PendingWrite[],
  shards: ShardsAway | undefined,
): Promise<LockedRows> {
  const keyed = writes.flatMap(({ row }) => (row.key === undefined ? [] : [row.key]));
  const asked = [...writes.map(({ row }) => row.uid), ...keyed];
  const rows = await lockKeys(session, kind, asked);
  for (const key of asked) shards?.answered(key);
  const others = writes.filter((write) => !isOwn(write, rows)).map(({ row }) => row.uid);
  const keys = await keysOnAnyShard(session, kind, others, shards);
  // A row that has the uid of a new object as its key has to move to that of its own object.
  const squatters = others.map((uid) => rows.get(uid)?.objectUid).filter((uid) => uid !== undefined);
  const unlocked = [...keys.values(), ...squatters].filter((key) => !rows.has(key));
  return { byKey: new Map([...rows, ...(await lockKeys(session, kind, unlocked))]), keys };
}

/** An object without a row of its own may have one of another key, which any shard may have: it waits for all of them. */
async function keysOnAnyShard(
  session: SqlSession,
  kind: KindDefinition,
  uids: readonly string[],
  shards: ShardsAway | undefined,
): Promise<ReadonlyMap<string, string>> {
  const away = uids.length === 0 ? undefined : shards?.any();
  if (away !== undefined) throw away.keeping(uids);
  try {
    return await otherKeys(session, kind, uids);
  } catch (error) {
    const found = shardUnavailable(error);
    if (found === undefined) throw error;
    shards?.failed(found);
    throw found.keeping(uids);
  }
}

export async function place(
  session: SqlSession,
  kind: KindDefinition,
  writes: readonly PendingWrite[],
  { byKey, keys }: LockedRows,
): Promise<readonly Placed[]> {
  const placed: Placed[] = [];
  for (const write of writes) {
    const { uid } = write.row;
    const moved = keys.get(uid);
    if (isOwn(write, byKey)) placed.push({ write, key: uid, stored: byKey.get(uid) });
    else if (moved !== undefined && hasObject(byKey.get(moved), uid))
      placed.push({ write, key: moved, stored: byKey.get(moved) });
    else placed.push(await placeNew(session, kind, write, byKey));
  }
  return placed;
}

function isOwn({ row }: PendingWrite, rows: LockedRows['byKey']): boolean {
  return hasObject(rows.get(row.uid), undefined);
}

function hasObject(row: LockedRow | undefined, objectUid: string | undefined): boolean {
  return row !== undefined && row.objectUid === objectUid;
}

async function lockKeys(
  session: SqlSession,
  kind: KindDefinition,
  keys: readonly string[],
): Promise<LockedRows['byKey']> {
  if (keys.length === 0) return new Map();
  const parameters = padded(keys);
  const rows = await session.query(statementsFor(kind, session.dialect).lock(parameters.length), parameters);
  return new Map(
    rows.map(([key, resourceVersion, state, labelsHash, annotationsHash, foreign, objectUid]) => [
      String(key),
      {
        resourceVersion: String(resourceVersion),
        state: Number(state),
        labelsHash: Number(foreign) === 1 ? null : (labelsHash as Buffer | null),
        annotationsHash: Number(foreign) === 1 ? null : (annotationsHash as Buffer | null),
        foreign: Number(foreign) === 1,
        objectUid: typeof objectUid === 'string' ? objectUid : undefined,
      },
    ]),
  );
}

/** Of an object that has no row: where another one has the row of its key, that one may have to give it up. */
async function placeNew(
  session: SqlSession,
  kind: KindDefinition,
  write: PendingWrite,
  rows: ReadonlyMap<string, LockedRow>,
): Promise<Placed> {
  const { uid, key = uid } = write.row;
  if (!rows.has(key)) return { write, key, stored: undefined };
  const holder = await readHolder(session, kind, key);
  const sameName = holder.namespace === write.row.namespace && holder.name === write.row.name;
  if (sameName && !isLater(write, holder)) return { write, key, stored: 'of a later one' };
  if (sameName && (holder.state === rowStateNumber('live') || holder.state === rowStateNumber('deleted'))) {
    await removeRow(session, kind, key);
    return { write, key, stored: undefined };
  }
  const squatter = rows.get(uid)?.objectUid;
  if (squatter !== undefined) await moveRow(session, kind, uid, squatter);
  return { write, key: uid, stored: undefined, ...(key === uid ? {} : { taken: key }) };
}

/** An object that was told the uid of this one for its key gives it up: a uid is first of all that of its own object. */
async function moveRow(session: SqlSession, kind: KindDefinition, from: string, to: string): Promise<void> {
  await movers[session.dialect.keys](session, kind, from, to);
}

const movers: Readonly<Record<Dialect['keys'], typeof moveRow>> = { changed: changeKey, copied: copyRow };

/** Where the key says which server has the row, the row is written anew. */
async function copyRow(session: SqlSession, kind: KindDefinition, from: string, to: string): Promise<void> {
  const [row = []] = await session.query(
    `SELECT ${rowColumns(kind).join(', ')} FROM \`${kind.table}\` WHERE \`uid\` = ?`,
    [from],
  );
  const pairs = await Promise.all(
    (['labels', 'annotations'] as const).map((part) => readPairRows(session, `${kind.table}_${part}`, [from])),
  );
  const createTime = String(row[0]);
  await removeRow(session, kind, from);
  const columns = rowColumns(kind);
  await session.execute(
    `INSERT INTO \`${kind.table}\` (\`uid\`, ${columns.join(', ')}) VALUES (?, ${columns.map(() => '?').join(', ')})`,
    [to, ...(row as readonly SqlParameter[])],
  );
  const { labels, annotations } = statementsFor(kind, session.dialect);
  for (const [statements, rows, extra] of [
    [labels, pairs[0] ?? [], [createTime]],
    [annotations, pairs[1] ?? [], []],
  ] as const) {
    const object = { uid: to, pairs: rows.map(([, key, value]) => [String(key), String(value)] as const), extra };
    for (const { sql, parameters } of statements.add(session, [object])) await session.execute(sql, parameters);
  }
}

/** All but the key and whose row it is; the creation time first. */
function rowColumns(kind: KindDefinition): readonly string[] {
  const others = rowColumnNames(kind).filter((name) => !['uid', 'object_uid', 'create_time'].includes(name));
  return ['create_time', ...others, 'delete_reason'].map((name) => `\`${name}\``);
}

async function changeKey(session: SqlSession, kind: KindDefinition, from: string, to: string): Promise<void> {
  const [main = kind.table, ...pairs] = tablesOf(kind);
  await session.execute(`UPDATE \`${main}\` SET \`uid\` = ?, \`object_uid\` = NULL WHERE \`uid\` = ?`, [to, from]);
  for (const table of pairs)
    await session.execute(`UPDATE \`${table}\` SET \`obj_uid\` = ? WHERE \`obj_uid\` = ?`, [to, from]);
}

interface Holder {
  readonly namespace: string;
  readonly name: string;
  /** RFC 3339. */
  readonly createTime: string;
  readonly resourceVersion: bigint;
  readonly state: number;
  readonly foreign: boolean;
}

async function readHolder(session: SqlSession, kind: KindDefinition, key: string): Promise<Holder> {
  const [row = []] = await session.query(
    `SELECT \`namespace\`, \`name\`, \`create_time\`, CAST(\`res_version\` AS CHAR), ${STATE_SQL}, ${FOREIGN_SQL} ` +
      `FROM \`${kind.table}\` WHERE \`uid\` = ? FOR UPDATE`,
    [key],
  );
  const [namespace, name, createTime, resourceVersion, state, foreign] = row;
  return {
    namespace: String(namespace),
    name: String(name),
    createTime: fromSqlTime(String(createTime)),
    resourceVersion: BigInt(String(resourceVersion)),
    state: Number(state),
    foreign: Number(foreign) === 1,
  };
}

/** What the original wrote of the very object, without saying whose row it is, is as new as its version. */
function isLater({ row }: PendingWrite, holder: Holder): boolean {
  const created = fromSqlTime(toSqlTime(row.createTime));
  if (created !== holder.createTime) return created > holder.createTime;
  const version = BigInt(row.resourceVersion);
  return version > holder.resourceVersion || (holder.foreign && version === holder.resourceVersion);
}

/** With its labels and annotations; another takes its place in the same transaction. */
export async function removeRow(session: SqlSession, kind: KindDefinition, key: string): Promise<void> {
  const [main = kind.table, ...pairs] = tablesOf(kind);
  for (const table of pairs) await session.execute(`DELETE FROM \`${table}\` WHERE \`obj_uid\` = ?`, [key]);
  await session.execute(`DELETE FROM \`${main}\` WHERE \`uid\` = ?`, [key]);
}
