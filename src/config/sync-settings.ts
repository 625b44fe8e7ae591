// The sections about eviction, breakers and outages.
import { evictionRules } from './eviction.ts';
import { duration, flag, integer, mode, section, text } from './values.ts';

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
