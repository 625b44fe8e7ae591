// Work on a kind begins while its first list arrives, with what only that object needs: the copy of a live object. What
// needs to know all of them waits for the end of the list: deletions, which a breaker counts in percent of them, evictions,
// and rows of objects that left.
import { waitUntil } from '../../base/clock.ts';
import type { EventQueue } from '../../runtime/handler.ts';
import type { Source, SourceContext } from '../../runtime/source.ts';
import { LOW_PRIORITY } from '../../runtime/work-queue.ts';

const SYNC_POLL_MS = 20;

export class FirstList implements Source {
  readonly name = 'what waits for the first list';
  readonly #isComplete: () => boolean;
  readonly #deferred = new Set<string>();
  #context: SourceContext | undefined;

  constructor(isComplete: () => boolean) {
    this.#isComplete = isComplete;
  }

  /** True until the list is complete; then the key comes again. */
  defers(key: string): boolean {
    if (this.#isComplete()) return false;
    this.#deferred.add(key);
    return true;
  }

  waits(key: string): boolean {
    return this.#deferred.has(key);
  }

  start(context: SourceContext): void {
    this.#context = context;
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    if (this.#context === undefined) return;
    const { clock, queue } = this.#context;
    await waitUntil({ clock, periodMs: SYNC_POLL_MS, signal }, this.#isComplete);
    if (this.#isComplete()) this.#handOver(queue);
  }

  #handOver(queue: EventQueue): void {
    for (const key of this.#deferred) queue.add(key, { priority: LOW_PRIORITY });
    this.#deferred.clear();
  }
}
