// Detects a MySQL that does not know what it confirmed before: after a failover to a replica that was behind, or a
// restore from a backup, final states are lost that cannot be sent again.
import { type Clock, repeat } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { dataOf } from '../../kube/resources.ts';
import type { ServerHistory } from '../../storage/mysql/server-history.ts';
import { statusRef } from '../flows/control-state.ts';
import { HISTORY_KEY, type StorageHistoryStatus } from './status.ts';

export interface StorageHistoryOptions {
  readonly storage: {
    /** The newest transactions that were confirmed since the last call. */
    takeCommitted(): string;
    serverHistory(seen: string): Promise<ServerHistory>;
  };
  /** What the process that worked before has seen, from where it outlives MySQL. */
  readonly remembered: () => Promise<StorageHistoryStatus | undefined>;
  readonly onLost: () => void;
  /** The settings under which a crash of the machine, or a failover, loses what was confirmed, at every look. */
  readonly onWeak: (settings: readonly string[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly periodMs?: number;
  /** A server that only lags, as members of a group do, catches up within this time. */
  readonly settleMs?: number;
}

const PERIOD_MS = 5000;
const SETTLE_MS = 30_000;
const ADVICE =
  'MySQL does not know transactions that it confirmed: it failed over to a replica that was behind, or was restored. ' +
  'Keep the server that was before, and run: ingester audit --repair. See docs/runbooks.md#ingesterstoragewentback';

/** How long a loss of confirmed states, and a failover, are remembered. */
const TOLD_MS = 7 * 86_400_000;

/** What a look has found. */
type Judged = Omit<ServerHistory, 'replication'> & { readonly failedOver: Pick<StorageHistoryStatus, 'failedOverAt'> };

export class StorageHistory {
  readonly #options: StorageHistoryOptions;
  #status: StorageHistoryStatus | undefined;
  /** On the monotonic clock. */
  #missingSinceMs: number | undefined;
  #complainedOf = '';
  /** Of `#status`, and what was confirmed since. */
  #seen = '';

  constructor(options: StorageHistoryOptions) {
    this.#options = options;
  }

  /** Undefined before the first look. */
  get status(): StorageHistoryStatus | undefined {
    return this.#status;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, remembered, logger, periodMs = PERIOD_MS } = this.#options;
    let asked = false;
    await repeat({ clock, periodMs, signal }, async () => {
      try {
        if (!asked) this.#remember(await remembered());
        asked = true;
        await this.#look();
      } catch (error) {
        logger.debug({ problem: messageOf(error) }, 'The history of MySQL could not be read; trying again');
      }
    });
  }

  #remember(status: StorageHistoryStatus | undefined): void {
    this.#status = status;
    this.#seen = status?.seen ?? '';
  }

  async #look(): Promise<void> {
    const { storage, clock, settleMs = SETTLE_MS } = this.#options;
    // Before the answer: what was confirmed must not be forgotten where none comes.
    this.#seen = [this.#seen, storage.takeCommitted()].filter((each) => each !== '').join(',');
    const history = this.#judged(await storage.serverHistory(this.#seen));
    this.#warnOfWeakness(history);
    const { server, known, missing, weak, failedOver } = history;
    if (known === '') {
      this.#status = { server, seen: '', ...this.#status, ...failedOver, weak };
      return;
    }
    if (missing === '') {
      this.#missingSinceMs = undefined;
      this.#remember({ ...this.#status, ...failedOver, server, seen: known, weak });
      return;
    }
    this.#missingSinceMs ??= clock.monotonicMs();
    if (clock.monotonicMs() - this.#missingSinceMs >= settleMs) this.#tell(history);
  }

  /** With what a failover would lose: no user with ordinary rights sees one coming, so one that has been says that there are several servers. */
  #judged({ replication, ...history }: ServerHistory): Judged {
    const now = this.#options.clock.now();
    const { server: before, failedOverAt } = this.#status ?? {};
    const isOther = before !== undefined && before !== '' && before !== history.server;
    const at = isOther ? now.toISOString() : failedOverAt;
    const isRecent = at !== undefined && now.getTime() - Date.parse(at) < TOLD_MS;
    const atFailover = [
      ...(replication === 'fell-back' ? ['rpl_semi_sync_source_status=OFF'] : []),
      ...(replication === 'alone' && isRecent ? ['rpl_semi_sync_source_enabled=OFF'] : []),
    ];
    const failedOver = at === undefined ? {} : { failedOverAt: at };
    return { ...history, weak: [...history.weak, ...atFailover], failedOver };
  }

  #tell({ server, known, missing, weak, failedOver }: Judged): void {
    const { clock, logger, onLost } = this.#options;
    const wentBack = { at: clock.now().toISOString(), from: this.#status?.server ?? '', to: server, missing };
    this.#missingSinceMs = undefined;
    this.#remember({ server, seen: known, weak, ...failedOver, wentBack });
    onLost();
    logger.error(wentBack, ADVICE);
  }

  #warnOfWeakness({ server, weak }: Judged): void {
    this.#options.onWeak(weak);
    const found = `${server} ${weak.join(' ')}`;
    if (found === this.#complainedOf) return;
    this.#complainedOf = found;
    if (weak.length === 0) return;
    const message =
      'MySQL can lose final states that it confirmed, in a crash of its machine or in a failover; ' +
      'what to set: docs/storage.md#failover';
    this.#options.logger.warn({ server, settings: weak }, message);
  }
}

/**
 * The state that the last active reconciler wrote. It may only patch its ConfigMap; an empty patch returns the content.
 */
export async function rememberedHistory(
  client: Pick<KubeClient, 'mergePatch'>,
  namespace: string,
  now: Date,
): Promise<StorageHistoryStatus | undefined> {
  return historyIn(dataOf(await client.mergePatch(statusRef(namespace), {})), now);
}

/**
 * When MySQL was found without transactions that it had confirmed: at this moment, or in the last days. A row of before may
 * lack what has become of its object. Undefined where none is known to be missing.
 */
export async function storageWentBackAt(
  {
    client,
    storage,
    clock,
  }: Pick<StorageHistoryOptions, 'clock'> & {
    readonly client: Pick<KubeClient, 'mergePatch'>;
    readonly storage: Pick<StorageHistoryOptions['storage'], 'serverHistory'>;
  },
  namespace: string,
): Promise<Date | undefined> {
  const now = clock.now();
  const { seen = '', wentBack } = (await ifFound(rememberedHistory(client, namespace, now))) ?? {};
  if ((await storage.serverHistory(seen)).missing !== '') return now;
  return wentBack && new Date(wentBack.at);
}

export function historyIn(
  { [HISTORY_KEY]: text }: ReturnType<typeof dataOf>,
  now: Date,
): StorageHistoryStatus | undefined {
  if (text === undefined) return undefined;
  const { wentBack, ...history } = JSON.parse(text) as StorageHistoryStatus;
  const isTold = wentBack !== undefined && now.getTime() - Date.parse(wentBack.at) < TOLD_MS;
  return isTold ? { ...history, wentBack } : history;
}
