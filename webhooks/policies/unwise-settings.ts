// What an Ingester may ask for and its author should know about: what costs durability or keeps deletions waiting in a
// Production environment, what does nothing, and configuration that this version of the program would refuse. Never refused: another version,
// which the same edit may ask for, can know more.
//
//   CREATE, and UPDATE that brings such a setting   a warning for each
//   another environment                             of the configuration, and of what does nothing
import { componentNames, INGESTER_GROUP, INGESTER_KIND } from '../../src/api/ingester/spec.ts';
import type { FieldError } from '../../src/base/errors.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import { programVersion } from '../../src/base/program-files.ts';
import type { ValidatingPolicy } from '../policy.ts';

/** `problemsIn` says what this version would refuse in sections of a configuration file, within bounds of its own. */
export function unwiseSettings(problemsIn: (sections: JsonObject) => readonly FieldError[]): ValidatingPolicy {
  const warningsOf = (object: JsonObject | undefined): readonly string[] => [
    ...ofProduction(object),
    ...ofAutoscaling(valueAt(object, ['spec', 'components', 'sync'])),
    ...configurationsOf(object).flatMap(([place, sections]) =>
      problemsIn(sections).map(
        ({ path, message }) => `${place}: ${path}: ${message} (in version ${programVersion()}; another may differ)`,
      ),
    ),
  ];
  return {
    name: 'unwise-settings',
    appliesTo: ({ group, kind, operation, subresource }) =>
      group === INGESTER_GROUP && kind.kind === INGESTER_KIND && operation !== 'DELETE' && subresource === '',
    review: ({ object, oldObject }) => {
      const before = new Set(warningsOf(oldObject));
      const warnings = warningsOf(object).filter((warning) => !before.has(warning));
      return warnings.length === 0 ? { allowed: true } : { allowed: true, warnings };
    },
  };
}

function configurationsOf(object: JsonObject | undefined): readonly (readonly [place: string, sections: JsonObject])[] {
  const places = [['spec', 'config'], ...componentNames.map((name) => ['spec', 'components', name, 'config'])];
  return places.flatMap((place) => {
    const sections = valueAt(object, place);
    return isJsonObject(sections) ? [[place.join('.'), sections] as const] : [];
  });
}

function ofProduction(object: JsonObject | undefined): readonly string[] {
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

function ofAutoscaling(sync: unknown): readonly string[] {
  const isOfStandbys = isJsonObject(valueAt(sync, ['autoscaling'])) && valueAt(sync, ['active']) !== 'All';
  return isOfStandbys
    ? [
        'spec.components.sync.autoscaling: one replica works and the others stand by; set active: All for them to share the work',
      ]
    : [];
}

/** Defaults are filled in only inside of groups that are set. */
function isSingle(sync: JsonObject): boolean {
  const autoscaling = valueAt(sync, ['autoscaling']);
  const least = isJsonObject(autoscaling) ? valueAt(autoscaling, ['minReplicas']) : valueAt(sync, ['replicas']);
  return least === undefined || least === 1;
}
