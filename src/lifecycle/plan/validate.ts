// What the CRD's schema cannot express. It holds without the webhook, too: every stored specification is checked here.
import {
  type BackoffSpec,
  backoffBounds,
  componentNames,
  type IngesterSpec,
  type LifecycleSpec,
  type TaskName,
  taskNames,
} from '../../api/ingester/spec.ts';
import { parseDurationMs } from '../../base/duration.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { scheduleProblem } from './schedule.ts';
import { milliseconds } from './settings.ts';
import { isProduction } from './steps.ts';

/** Sections that the resource's fields or the lifecycle controller set. */
const RESERVED = [
  ...['mysql', 'kubernetes', 'metadataStorage', 'encryption', 'leaderElection', 'health'],
  ...['clone', 'rotation', 'snapshots'],
];
/** The longest suffix of a child is `-maintenance-page`, and a Service has 63 characters. */
const MAX_NAME = 45;

/** Every problem, each with its path. */
export function problemsOf(name: string, spec: IngesterSpec): readonly string[] {
  const { clone, snapshots } = spec.lifecycle ?? {};
  const { config, components = {} } = spec;
  const own = componentNames.map((name) => [`spec.components.${name}.config`, components[name]?.config] as const);
  const configs: readonly (readonly [string, JsonObject | undefined])[] = [['spec.config', config], ...own];
  const schedules = [
    ['clone', clone?.schedule],
    ['snapshots', snapshots?.schedule],
  ] as const;
  return [
    ...(name.length > MAX_NAME
      ? [`metadata.name: at most ${MAX_NAME} characters, so that its children can be named after it`]
      : []),
    ...schedules.flatMap(([of, schedule]) => {
      const problem = schedule === undefined ? undefined : scheduleProblem(schedule);
      return problem === undefined ? [] : [`spec.lifecycle.${of}.schedule: ${problem}`];
    }),
    ...restoreProblems(spec.lifecycle),
    ...taskNames.flatMap((task) => backoffProblems(task, spec.lifecycle?.[task]?.backoff)),
    ...(clone !== undefined && isProduction(spec)
      ? ['spec.lifecycle.clone: not in Production, it overwrites the database']
      : []),
    ...configs.flatMap(([path, sections]) => reservedIn(path, sections)),
  ];
}

/** The CRD has these rules too; here for a specification that was stored under an older CRD. */
function restoreProblems({ restore, snapshots, migrate, init }: LifecycleSpec = {}): readonly string[] {
  if (restore === undefined) return [];
  const off = Object.entries({ migrate, init }).filter(([, task]) => task?.disabled === true);
  return [
    ...(snapshots === undefined ? ['spec.lifecycle.restore: needs spec.lifecycle.snapshots.database'] : []),
    ...off.map(([name]) => `spec.lifecycle.restore: needs the task ${name}; remove its disabled, or restore`),
  ];
}

/** In the CRD, too. A longer wait has no date at last. */
function backoffProblems(task: TaskName, { duration, maxDuration }: BackoffSpec = {}): readonly string[] {
  const { min, max } = backoffBounds;
  const isWait = (text: string): boolean => {
    const wait = parseDurationMs(text) ?? 0;
    return wait >= milliseconds(min, min) && wait <= milliseconds(max, max);
  };
  return Object.entries({ duration, maxDuration })
    .filter(([, text]) => text !== undefined && !isWait(text))
    .map(([name]) => `spec.lifecycle.${task}.backoff.${name}: a wait is between ${min} and ${max}`);
}

function reservedIn(path: string, sections: JsonObject | undefined): readonly string[] {
  if (!isJsonObject(sections)) return [];
  return RESERVED.filter((key) => key in sections).map(
    (key) => `${path}.${key}: the lifecycle controller sets this section; remove it`,
  );
}
