// The loops of the kinds as they are now: for good where this replica works on everything, else for a term, and none between
// two terms.
import type { KindDefinition } from '../../api/kind.ts';
import type { Manager } from '../../runtime/manager.ts';
import { BUCKETS } from '../../runtime/replicas/buckets.ts';
import { lookAhead } from '../../sync/startup/look-ahead.ts';
import { recordPositions } from '../../sync/startup/position.ts';
import { createFinalizerSweep, type FinalizerSweepLoop } from './finalizer-sweep-loop.ts';
import { createLoop, type KindLoop, type Parts } from './kind-loop.ts';
import { addEvictionLoop, addLoop } from './kind-runnables.ts';

export class CurrentWork {
  readonly kinds: readonly KindDefinition[];
  #loops: readonly KindLoop[] = [];
  #finalizerSweep: FinalizerSweepLoop | undefined;

  constructor(kinds: readonly KindDefinition[]) {
    this.kinds = kinds;
  }

  get loops(): readonly KindLoop[] {
    return this.#loops;
  }

  readonly loopOf = (kind: KindDefinition): KindLoop | undefined => this.#loops.find((loop) => loop.kind === kind);

  /** Made anew for these parts. */
  begin(parts: Parts): void {
    this.#loops = this.kinds.map((kind) => createLoop(kind, parts));
    this.#finalizerSweep = createFinalizerSweep(this.#loops, parts);
  }

  end(): void {
    this.#loops = [];
    this.#finalizerSweep = undefined;
  }

  /** The watches alone show what is there; `sync` also copies, deletes and evicts, once the database is `usable`. */
  addTo(manager: Manager, parts: Parts, what: { readonly syncs: boolean; readonly usable: Promise<undefined> }): void {
    const sweep = this.#finalizerSweep;
    for (const loop of this.#loops) {
      const { kind, informer } = loop;
      manager.add({ name: `watch ${kind.plural}`, group: 'cache', run: (stop) => informer.run(stop) });
      if (what.syncs) addLoop(manager, loop, parts, what.usable);
    }
    if (!what.syncs || sweep === undefined) return;
    const part = parts.share === undefined ? undefined : { buckets: parts.share.buckets, of: BUCKETS };
    const loops = this.#loops;
    manager.add({ name: 'positions', run: (stop) => recordPositions(loops, { ...parts, part }, stop) });
    // A watch that is not narrowed brings what others change, and with it how far it is.
    if (parts.share?.shardSelector !== undefined)
      manager.add({ name: 'look ahead', run: (stop) => lookAhead(loops, parts, stop) });
    manager.add({ name: 'finalizer sweep', run: (stop) => sweep.controller.run(stop) });
    for (const loop of loops) addEvictionLoop(manager, parts, loop);
  }

  /** Every unguarded object is looked at again. */
  sweepAll(): void {
    this.#finalizerSweep?.enqueueAll();
  }

  /** What was read before rows may have been set back is not written after it. */
  readAnew(): void {
    for (const { informer } of this.#loops) informer.store.releaseAll();
  }

  retryFailed(): void {
    for (const { controller } of this.#loops) controller.retryFailed();
  }
}
