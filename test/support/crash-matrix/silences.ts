// A connection to MySQL that falls silent in the middle of a statement: it stays open, and no answer comes.
import { systemClock } from '../../../src/base/clock.ts';
import type { MysqlOptions } from '../../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../../src/storage/mysql/store/mysql-storage.ts';
import { type MysqlProxy, startMysqlProxy, type Verdict } from '../mysql-proxy.ts';
import type { Disturbance } from './run.ts';

const moments = ['handshake', 'prepare', 'execute', 'commit'] as const;
type Moment = (typeof moments)[number];

/** Shorter than in the program, so that a run takes minutes; long enough for a server that is busy. */
const DEADLINE_MS = 2000;

export class Silences {
  readonly storage: MysqlMetadataStorage;
  readonly #proxy: MysqlProxy;
  readonly #due: Set<Moment>;
  /** How often a connection has fallen silent. */
  readonly count: () => number;

  private constructor(parts: {
    readonly storage: MysqlMetadataStorage;
    readonly proxy: MysqlProxy;
    readonly due: Set<Moment>;
    readonly count: () => number;
  }) {
    this.storage = parts.storage;
    this.#proxy = parts.proxy;
    this.#due = parts.due;
    this.count = parts.count;
  }

  static async start(options: MysqlOptions): Promise<Silences> {
    const due = new Set<Moment>();
    let silenced = 0;
    const verdict = (moment: Moment): Verdict => {
      if (!due.delete(moment)) return 'pass';
      silenced += 1;
      return 'hold';
    };
    const proxy = await startMysqlProxy(options, (sql) => (sql === 'COMMIT' ? verdict('commit') : 'pass'), verdict);
    const way = { host: proxy.host, port: proxy.port, connectTimeoutMs: DEADLINE_MS, readTimeoutMs: DEADLINE_MS };
    const storage = new MysqlMetadataStorage({ ...options, ...way }, systemClock);
    return new Silences({ storage, proxy, due, count: () => silenced });
  }

  /** From the disturbed step on, the next connection that comes to the moment falls silent, whosever call it is. */
  columns(): readonly Disturbance[] {
    return moments.map((moment) => ({
      name: `silent ${moment}`,
      interferes: false,
      at: () => {
        this.#due.add(moment);
        if (moment === 'handshake') this.#proxy.drop();
        return Promise.resolve(undefined);
      },
    }));
  }

  async close(): Promise<void> {
    await this.storage.close();
    await this.#proxy.close();
  }
}
