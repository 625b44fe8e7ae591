// The section about admission.
import { compareApiVersions } from '../api/api-version.ts';
import { mode, perKind, section, text } from './values.ts';

export const admissionSections = {
  admission: section({
    incomparableVersions: mode(['deny', 'warn'])
      .default('deny')
      .describe('For an Ingester whose version cannot be compared with the migrated one: deny or warn.'),
    contentDowngrades: perKind(mode(['deny', 'warn', 'off']))
      .default({})
      .describe('For objects that go back to an older version, by kind: deny, warn or off. Defaults: docs/kinds.md.'),
    minimumApiVersion: text
      .refine((version) => version === '' || compareApiVersions(version, version) !== undefined, {
        error: 'expected an API version such as v2',
      })
      .default('')
      .describe(
        'Oldest API version through which objects may be written. Empty: for each object, that of its last write.',
      ),
    createMarked: mode(['deny', 'warn'])
      .default('deny')
      .describe('For a new object that is already marked for deletion or eviction: deny or warn.'),
    archivedNames: mode(['deny', 'warn'])
      .default('deny')
      .describe('For a new object with the name of an evicted one, if tombstones are enabled: deny or warn.'),
    ownedDeletions: mode(['warn', 'deny'])
      .default('warn')
      .describe(
        'For an object that is marked for deletion although Argo CD, Flux or Helm would create it again: warn or deny.',
      ),
    fieldRules: mode(['warn', 'deny', 'off'])
      .default('warn')
      .describe("For fields that the original's API server would refuse: warn, deny or off."),
  }),
};
