// The sections about eviction, breakers and outages.
import * as z from 'zod';
import { CelError, parseCel } from '../base/cel.ts';
import { allKinds, findKind } from '../kinds/kinds.ts';
import { duration, flag, integer, kindList, mode, section, text } from './values.ts';

const withEnd = allKinds.filter((kind) => kind.run?.endTime !== undefined).map((kind) => kind.kind);

const celText = text.superRefine((expression, context) => {
  try {
    parseCel(expression);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

/** Which objects may leave etcd, besides those annotated michelangelo/Immutable. Every condition that is given must hold. */
const evictionRule = z
  .strictObject(
    {
      name: z.string({ error: 'expected text' }).min(1, { error: 'expected a name' }),
      kinds: kindList,
      /** Milliseconds since the run ended. */
      finishedFor: duration.optional(),
      /** Newest finished objects of each owner that stay. */
      keepLast: integer(1, 1_000_000).optional(),
      /** CEL over `object` and `now`. */
      when: celText.optional(),
    },
    { error: 'expected a rule with name and kinds' },
  )
  .refine((rule) => rule.finishedFor !== undefined || rule.keepLast !== undefined || rule.when !== undefined, {
    error: 'a rule without a condition would evict everything; give finishedFor, keepLast or when',
  })
  .refine((rule) => rule.finishedFor === undefined || rule.kinds.every((name) => findKind(name)?.run?.endTime), {
    path: ['finishedFor'],
    error: `only ${withEnd.join(', ')} say when they ended; use when for other kinds`,
  });

const evictionRules = z
  .array(evictionRule, { error: 'expected a list of rules' })
  .refine((rules) => new Set(rules.map(({ name }) => name)).size === rules.length, {
    error: 'two rules have the same name',
  });

export const syncSections = {
  eviction: section({
    perSecond: integer(0, 100_000).default(50).describe('Maximum evictions per second and kind. 0: no limit.'),
    pruneArchived: mode(['archive', 'delete'])
      .default('archive')
      .describe(
        'What deleting an archived object that is still in etcd does in MySQL: archive keeps its row as evicted, delete marks it deleted.',
      ),
    interval: duration
      .prefault('5m')
      .describe('Interval at which the rules are evaluated for all objects of their kinds.'),
    rules: evictionRules
      .default([])
      .describe('Rules that select objects for eviction; see [operations](operations.md#eviction-rules).'),
  }),
  deletionBreaker: section({
    perMinute: integer(0, 1_000_000)
      .default(0)
      .describe('Maximum deletions of one kind per minute; further ones wait for an operator. 0: no limit.'),
    percent: integer(0, 100)
      .default(0)
      .describe('The same, as a percentage of the objects of the kind; applies from 10 deletions on. 0: no limit.'),
  }),
  outage: section({
    policy: mode(['wait', 'remove-finalizer'])
      .default('wait')
      .describe(
        'What deletions do while MySQL is not available: wait, or remove-finalizer after removeFinalizerAfter.',
      ),
    removeFinalizerAfter: duration
      .prefault('1h')
      .describe('How long MySQL must be unavailable before finalizers are removed without it.'),
    spoolDirectory: text
      .default('')
      .describe(
        'Directory on a persistent volume, used by this process only, that keeps final states until MySQL is available.',
      ),
    spoolMaxMebibytes: integer(1, 1_000_000)
      .default(256)
      .describe('Size of the spool, in MiB, at which no more finalizers are removed without MySQL.'),
  }).refine((outage) => outage.policy === 'wait' || outage.spoolDirectory !== '', {
    path: ['spoolDirectory'],
    error: 'set it: the policy remove-finalizer keeps final states there',
  }),
  tombstones: section({
    enabled: flag
      .default(false)
      .describe(
        'Records the name and version of every object that leaves, so that the webhook can check new objects. Set it for reconciler and webhook.',
      ),
  }),
};
