// The sections about eviction, breakers and outages.
import * as z from 'zod';
import { type EvictionRule, evictionRules } from './eviction.ts';
import { duration, flag, integer, mode, text } from './values.ts';

export interface SyncSettings {
  readonly eviction: {
    readonly paused: boolean;
    readonly perSecond: number;
    readonly pruneArchived: 'archive' | 'delete';
    readonly interval: number;
    readonly rules: readonly EvictionRule[];
  };
  readonly deletionBreaker: { readonly perMinute: number; readonly percent: number };
  readonly outage: {
    readonly policy: 'wait' | 'release';
    readonly releaseAfter: number;
    readonly spoolDirectory: string;
    readonly spoolMaxMebibytes: number;
  };
  readonly control: { readonly namespace: string };
  readonly rememberedNames: { readonly enabled: boolean; readonly namespace: string };
}

const section = { error: 'expected a map of keys' };

export const syncSections: { readonly [Section in keyof SyncSettings]: z.ZodType<SyncSettings[Section]> } = {
  eviction: z
    .strictObject(
      {
        paused: flag.default(false).describe('Evicts nothing. `ingester pause` does the same without a restart.'),
        perSecond: integer(0, 100_000)
          .default(50)
          .describe('Evictions a second of each kind, at most. 0: as fast as it goes.'),
        pruneArchived: mode(['archive', 'delete'])
          .default('archive')
          .describe('What deleting an archived object means that was kept in etcd: archive keeps it in MySQL.'),
        interval: duration.prefault('5m').describe('How often the rules look at all objects of their kinds.'),
        rules: evictionRules
          .default([])
          .describe('Chooses objects for eviction; see [operations](operations.md#eviction-rules).'),
      },
      section,
    )
    .prefault({}),
  deletionBreaker: z
    .strictObject(
      {
        perMinute: integer(0, 1_000_000)
          .default(0)
          .describe('Deletions of one kind within a minute after which the rest waits for a person. 0: no limit.'),
        percent: integer(0, 100)
          .default(0)
          .describe('The same, as a share of the objects of the kind; from 10 deletions on. 0: no limit.'),
      },
      section,
    )
    .prefault({}),
  outage: z
    .strictObject(
      {
        policy: mode(['wait', 'release'])
          .default('wait')
          .describe('What deletions do while MySQL is away: wait, or release after releaseAfter.'),
        releaseAfter: duration.prefault('1h').describe('How long MySQL must be away before objects are released.'),
        spoolDirectory: text
          .default('')
          .describe('Folder of this process alone, on a disk that outlives it, for what was released.'),
        spoolMaxMebibytes: integer(1, 1_000_000).default(256).describe('Size at which no more is released.'),
      },
      section,
    )
    .refine((outage) => outage.policy === 'wait' || outage.spoolDirectory !== '', {
      path: ['spoolDirectory'],
      error: 'set it: the policy release keeps final states there',
    })
    .prefault({}),
  control: z
    .strictObject(
      {
        namespace: text
          .default('ingester-system')
          .describe('Namespace of the ConfigMaps ingester-control, ingester-status and ingester-memory.'),
      },
      section,
    )
    .prefault({}),
  rememberedNames: z
    .strictObject(
      {
        enabled: flag
          .default(false)
          .describe(
            'Writes down under which names objects left, and in which versions; the webhook then knows them. Set it for both.',
          ),
        namespace: text.default('ingester-system').describe('Namespace of the ConfigMap ingester-names.'),
      },
      section,
    )
    .prefault({}),
};
