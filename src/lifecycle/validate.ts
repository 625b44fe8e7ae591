// What the CRD's schema cannot say. The webhook is not needed for it: whatever is stored is looked at again here.
import { componentNames, type IngesterSpec } from '../api/ingester/spec.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { scheduleProblem } from './schedule.ts';
import { isProduction } from './steps.ts';

/** Sections that the resource or the lifecycle itself decides on. */
const RESERVED = [
  ...['mysql', 'kubernetes', 'metadataStorage', 'encryption', 'leaderElection', 'health'],
  ...['clone', 'rotation', 'snapshots'],
];
/** The longest suffix of a child is `-maintenance-page`, and a Service has 63 characters. */
const MAX_NAME = 45;

/** Every problem, each with its path. */
export function problemsOf(name: string, spec: IngesterSpec): readonly string[] {
  const { clone } = spec.lifecycle ?? {};
  const { config, components = {} } = spec;
  const own = componentNames.map((name) => [`spec.components.${name}.config`, components[name]?.config] as const);
  const configs: readonly (readonly [string, JsonObject | undefined])[] = [['spec.config', config], ...own];
  const schedule = clone?.schedule === undefined ? undefined : scheduleProblem(clone.schedule);
  return [
    ...(name.length > MAX_NAME
      ? [`metadata.name: at most ${MAX_NAME} characters, so that its children can be named after it`]
      : []),
    ...(schedule === undefined ? [] : [`spec.lifecycle.clone.schedule: ${schedule}`]),
    ...(clone !== undefined && isProduction(spec)
      ? ['spec.lifecycle.clone: not in Production, it overwrites the database']
      : []),
    ...configs.flatMap(([path, sections]) => reservedIn(path, sections)),
  ];
}

function reservedIn(path: string, sections: JsonObject | undefined): readonly string[] {
  if (!isJsonObject(sections)) return [];
  return RESERVED.filter((key) => key in sections).map(
    (key) => `${path}.${key}: the lifecycle decides on this section; remove it`,
  );
}
