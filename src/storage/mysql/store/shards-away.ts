// Which shards of a database of several are away, and which rows are theirs, so that these fail at once and hold up no others.
//
// A shard has a range of keyspace ids, and the vschema that ships makes the keyspace id of a row out of its uid. Were rows
// divided otherwise, a row would be asked to wait for a shard that is not its own: it is tried again like those that are.
import xxhash from 'xxhash-wasm';
import type { Clock } from '../../../base/clock.ts';
import type { ShardUnavailableError } from '../../errors.ts';
import { shardUnavailable } from '../mysql-errors.ts';
import type { SqlSession } from '../pool.ts';

const hashing = await xxhash();

/** One write asks a shard that is away this often whether it is back; the others fail meanwhile. */
const TRY_MS = 1000;
/** A shard that has not failed for this long is no longer taken to be away, whether it was asked or not. */
const FORGOTTEN_MS = 15_000;

/** The keyspace id of Vitess' vindex `xxhash`, in hexadecimal digits. */
function keyspaceId(uid: string): string {
  const hash = Buffer.alloc(8);
  hash.writeBigUInt64LE(hashing.h64Raw(Buffer.from(uid)));
  return hash.toString('hex');
}

/** Whether the shard, by its name such as `40-80`, `-80` or `80-`, has the row. */
export function isOnShard(shard: string, uid: string): boolean {
  const [from = '', to = ''] = shard.split('-');
  const id = keyspaceId(uid);
  return id >= from && (to === '' || id < to);
}

interface Away {
  readonly error: ShardUnavailableError;
  readonly failedMs: number;
  /** When it was asked last. */
  askedMs: number;
}

export class ShardsAway {
  readonly #clock: Clock;
  readonly #byName = new Map<string, Away>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed(error: ShardUnavailableError): void {
    const nowMs = this.#clock.monotonicMs();
    this.#byName.set(error.shard, { error, failedMs: nowMs, askedMs: nowMs });
  }

  /** Any shard that has this row is back; of all of them where no row is given. */
  answered(uid?: string): void {
    for (const shard of this.#byName.keys()) if (uid === undefined || isOnShard(shard, uid)) this.#byName.delete(shard);
  }

  /** Asks all of them by a question for any row of a table. */
  async ask(session: SqlSession, table: string): Promise<void> {
    try {
      await session.query(`SELECT 1 FROM \`${table}\` LIMIT 1`);
      this.answered();
    } catch (error) {
      const away = shardUnavailable(error);
      if (away !== undefined) this.failed(away);
      throw error;
    }
  }

  /** Whether a shard of these rows is away, and then either the failure of a write to it or that this one asks it. */
  of(uids: readonly string[]): ShardUnavailableError | 'asks' | undefined {
    const nowMs = this.#clock.monotonicMs();
    const away = this.#current(nowMs).find(({ error }) => uids.some((uid) => isOnShard(error.shard, uid)));
    if (away === undefined) return undefined;
    if (nowMs - away.askedMs < TRY_MS) return away.error;
    away.askedMs = nowMs;
    return 'asks';
  }

  /** The failure of any shard that is away: what needs all of them fails as well. */
  any(): ShardUnavailableError | undefined {
    return this.#current(this.#clock.monotonicMs())[0]?.error;
  }

  #current(nowMs: number): readonly Away[] {
    for (const [shard, { failedMs }] of this.#byName) if (nowMs - failedMs >= FORGOTTEN_MS) this.#byName.delete(shard);
    return [...this.#byName.values()];
  }
}
