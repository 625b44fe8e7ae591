// What an Ingester may ask for and its author should know about: what costs durability or keeps deletions waiting in a
// Production environment. Never refused.
//
//   CREATE, and UPDATE that brings such a setting   a warning for each
//   another environment                             nothing
import { INGESTER_GROUP, INGESTER_KIND } from '../../src/api/ingester/spec.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import type { ValidatingPolicy } from '../policy.ts';

export const unwiseSettings: ValidatingPolicy = {
  name: 'unwise-settings',
  appliesTo: ({ group, kind, operation, subresource }) =>
    group === INGESTER_GROUP && kind.kind === INGESTER_KIND && operation !== 'DELETE' && subresource === '',
  review: ({ object, oldObject }) => {
    const before = new Set(warningsAbout(oldObject));
    const warnings = warningsAbout(object).filter((warning) => !before.has(warning));
    return warnings.length === 0 ? { allowed: true } : { allowed: true, warnings };
  },
};

function warningsAbout(object: JsonObject | undefined): readonly string[] {
  const environment = valueAt(object, ['spec', 'environment']) ?? 'Production';
  if (object === undefined || environment !== 'Production') return [];
  const sync = valueAt(object, ['spec', 'components', 'sync']);
  return [
    ...(isJsonObject(sync) && isSingle(sync)
      ? ['spec.components.sync: one replica; deletions wait while its pod moves to another node; set replicas: 2']
      : []),
    ...(valueAt(object, ['spec', 'lifecycle', 'stateMode']) === 'Stateless'
      ? ['spec.lifecycle.stateMode: Stateless keeps no snapshot before a change; there is no way back from a migration']
      : []),
  ];
}

/** Defaults are filled in only inside of groups that are set. */
function isSingle(sync: JsonObject): boolean {
  const autoscaling = valueAt(sync, ['autoscaling']);
  const least = isJsonObject(autoscaling) ? valueAt(autoscaling, ['minReplicas']) : valueAt(sync, ['replicas']);
  return least === undefined || least === 1;
}
