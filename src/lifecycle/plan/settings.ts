// Defaults for what an Ingester resource leaves out. The API server fills in defaults only inside of groups that are set.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import { parseDurationMs } from '../../base/duration.ts';

export function imageOf({ image, version }: Pick<IngesterSpec, 'image' | 'version'>): string {
  return image ?? `michelangelo-ingester:${version}`;
}

export function milliseconds(text: string | undefined, initial: string): number {
  return parseDurationMs(text ?? initial) ?? parseDurationMs(initial) ?? 0;
}

export const pollMs = 5000;
/** How long a pod may be unable to start before that is reported. */
export const cannotStartGraceMs = 10_000;
/** How long nodes may take to learn of a Service's new selector. */
export const spreadMs = 3000;
