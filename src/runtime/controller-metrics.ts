/** What a queue tells about itself. Times are in seconds, as metrics want them. */
export interface QueueMetrics {
  /** A key became ready. */
  added(priority: number): void;
  /** A ready key changed its priority. */
  moved(from: number, to: number): void;
  /** A ready key went to a worker. */
  taken(priority: number, waitedSeconds: number): void;
  /** A ready key was dropped, because the queue shut down. */
  dropped(priority: number): void;
  /** A worker is done with a key. */
  finished(workedSeconds: number): void;
  /** A key was added for later. */
  retried(): void;
  /** Called once: gives, whenever asked, how long each held key has been worked on. */
  watchHeld(seconds: () => Iterable<number>): void;
}

export const noQueueMetrics: QueueMetrics = {
  added: () => undefined,
  moved: () => undefined,
  taken: () => undefined,
  dropped: () => undefined,
  finished: () => undefined,
  retried: () => undefined,
  watchHeld: () => undefined,
};

export interface ControllerMetrics {
  readonly queue: QueueMetrics;
  /** A run has ended; errors count as `error` whatever becomes of the key. */
  reconciled(result: 'success' | 'requeue_after' | 'error', seconds: number): void;
  /** An error that is not tried again. */
  failedTerminally(): void;
  panicked(): void;
  timedOut(): void;
  workerStarted(): void;
  workerFinished(): void;
  maxConcurrentReconciles(count: number): void;
}

export const noControllerMetrics: ControllerMetrics = {
  queue: noQueueMetrics,
  reconciled: () => undefined,
  failedTerminally: () => undefined,
  panicked: () => undefined,
  timedOut: () => undefined,
  workerStarted: () => undefined,
  workerFinished: () => undefined,
  maxConcurrentReconciles: () => undefined,
};
