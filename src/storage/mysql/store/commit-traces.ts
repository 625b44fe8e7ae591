// One span for a transaction that many objects share: a child of the first attempt that is traced, linked with the others,
// and they with it. No more than a batch has rows.
import { CodedError } from '../../../base/errors.ts';
import { activeSpan, type SpanReference, type Tracer, type TraceSpan, withSpan } from '../../../base/tracing.ts';
import type { WriteOutcome } from '../../metadata-storage.ts';
import type { PendingWrite } from './pending-write.ts';

type Outcomes = readonly WriteOutcome[];

/** The write, with the attempt that asks for it now. */
export function withOrigin(tracer: Tracer | undefined, write: PendingWrite): PendingWrite {
  return tracer === undefined ? write : { ...write, origin: activeSpan() };
}

/** Runs the transaction, outside of the attempt that happens to start it; each attempt learns what became of its write. */
export function tracedCommit(
  tracer: Tracer | undefined,
  writes: readonly PendingWrite[],
  commit: () => Promise<Outcomes>,
): Promise<Outcomes> {
  const origins = tracer === undefined ? [] : [...new Set(writes.flatMap(({ origin }) => origin ?? []))];
  const [first, ...others] = origins;
  if (first === undefined) return withSpan(undefined, commit);
  const links = others.map(({ reference }): SpanReference => reference);
  const span = tracer?.start('commit', { kind: 'client', parent: first.reference, links });
  if (span === undefined) return withSpan(undefined, commit);
  for (const other of others) other.link(span.reference);
  span.set({
    'db.system.name': 'mysql',
    'ingester.batch.rows': writes.length,
    'ingester.batch.traced': origins.length,
  });
  return followed(span, writes, commit);
}

async function followed(
  span: TraceSpan,
  writes: readonly PendingWrite[],
  commit: () => Promise<Outcomes>,
): Promise<Outcomes> {
  try {
    const outcomes = await withSpan(span, commit);
    for (const [index, { origin }] of writes.entries()) origin?.set({ 'ingester.write': outcomes[index] ?? 'stale' });
    span.end();
    return outcomes;
  } catch (error) {
    span.end(error instanceof CodedError ? error.code : 'unexpected');
    throw error;
  }
}
