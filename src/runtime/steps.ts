import { done, type ReconcileResult } from './reconcile.ts';

/** A part of a reconcile. It runs the steps below it by `next`, which the last has no use for, and may act before and after. */
export type Step = readonly [
  name: string,
  run: (key: string, next: () => Promise<ReconcileResult>) => Promise<ReconcileResult>,
];

/** One reconcile out of steps: the first is entered first and left last. */
export function inSteps(steps: readonly Step[]): (key: string) => Promise<ReconcileResult> {
  const nothing = (): Promise<ReconcileResult> => Promise.resolve(done);
  return steps.reduceRight<(key: string) => Promise<ReconcileResult>>(
    (below, [, run]) =>
      (key) =>
        run(key, () => below(key)),
    nothing,
  );
}
