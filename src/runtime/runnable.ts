/**
 * When something runs. They start in this order, each group when the one before is ready, and stop in another:
 * - `server`: metrics, health; first to start, last to stop, so that a start and a stop can be watched
 * - `webhook`: before the caches, whose first list may need a conversion
 * - `cache`: informers; ready when they are synced
 * - `always`: whatever else does not need leadership
 * - `leader`: only while this process leads; what does not say otherwise
 */
export type RunnableGroup = 'server' | 'webhook' | 'cache' | 'always' | 'leader';

export interface Runnable {
  /** For logs and errors. */
  readonly name: string;
  /** `leader` unless given. */
  readonly group?: RunnableGroup;
  /** Runs until aborted. Returning earlier is no error; throwing ends the program. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when the next group may start. Ready at once unless given. */
  waitUntilReady?(signal: AbortSignal): Promise<void>;
  /** Of the group `leader`: prepares, before leadership is won, what needs none. */
  readonly warmup?: (signal: AbortSignal) => Promise<void>;
}
