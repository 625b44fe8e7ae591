// What the pod of a task needs beyond the database: its arguments, the Secrets that it alone is given, and its sections
// of the configuration.
import type { IngesterSpec, RestoreSpec, RotationSpec } from '../../api/ingester/spec.ts';
import type { Credentials, StepName } from '../../api/ingester/status.ts';
import type { JsonObject } from '../../base/json.ts';
import type { JobInput, Known } from '../plan/desired-state.ts';
import { sharedSections } from './configuration.ts';
import { gateHolder, type Parent } from './names.ts';
import { asJson, type Files, fromSecret, readOnly, secretFile } from './pod.ts';

export interface TaskParts extends Files {
  readonly args: readonly string[];
  readonly env: readonly JsonObject[];
  /** The Secret that it logs in with. */
  readonly loginSecret: string;
}

/** Placeholder for the run: all else in the pod is the same for every run. */
export const RUN_PLACE = '@run@';

type Extra = Pick<TaskParts, 'args' | 'env' | 'volumes' | 'mounts'>;
const nothing: Extra = { args: [], env: [], volumes: [], mounts: [] };

export function taskParts(parent: Parent, { spec, step, known = {} }: JobInput): TaskParts {
  const { migrationCredentialsSecret, credentialsSecret } = spec.database;
  // Credentials are rotated with a login of their own user.
  const changes = step === 'finish' || (step === 'rotate' && nextOf(spec) !== undefined);
  const loginSecret = changes ? credentialsSecret : (migrationCredentialsSecret ?? credentialsSecret);
  const { args, ...extra } = extraOf(step, spec, known);
  return { ...extra, args: [...commandOf(parent, step, known), ...creation(step, spec), ...args], loginSecret };
}

/** The credentials to make valid; undefined where they are in use already. */
function nextOf({ database: { rotation, credentialsSecret } }: IngesterSpec): RotationSpec | undefined {
  return rotation?.credentialsSecret === credentialsSecret ? undefined : rotation;
}

function commandOf(parent: Parent, step: StepName, { restore }: Known): readonly string[] {
  const holder = gateHolder(parent);
  const json = ['-o', 'json'];
  if (step === 'quiesce')
    return ['gate', 'close', '--holder', holder, '--reason', 'the lifecycle controller runs tasks', ...json];
  if (step === 'release') return ['gate', 'open', '--holder', holder, ...json];
  const other: Partial<Record<StepName, readonly string[]>> = {
    finish: ['rotate', '--finish'],
    backup: ['snapshot'],
    restore: ['restore-snapshot', restore?.snapshot ?? ''],
  };
  const task = other[step] ?? [step];
  return ['task', ...task, '--attempt', RUN_PLACE, '--gate-holder', holder, ...json];
}

const FIRST: ReadonlySet<StepName> = new Set(['clone', 'migrate']);

/** Steps that may run before the database exists. */
function creation(step: StepName, { database }: IngesterSpec): readonly string[] {
  return database.createDatabase === true && FIRST.has(step) ? ['--create-database'] : [];
}

function extraOf(step: StepName, spec: IngesterSpec, { credentials, restore, referenced = [] }: Known): Extra {
  switch (step) {
    case 'clone':
      return clone(spec);
    case 'rotate':
      return rotate(nextOf(spec));
    case 'finish':
      return credentials === undefined ? nothing : finish(credentials);
    case 'snapshot':
    case 'backup':
      return { ...nothing, args: snapshot(step, referenced) };
    case 'restore':
      return { ...nothing, args: restore === undefined ? [] : restoring(restore) };
    default:
      return nothing;
  }
}

function snapshot(step: 'snapshot' | 'backup', referenced: readonly string[]): readonly string[] {
  const reason = step === 'backup' ? 'taken by schedule' : 'taken before a change';
  return ['--reason', reason, ...(referenced.length === 0 ? [] : ['--referenced', ...referenced])];
}

function restoring({ replaceDataOf, discardNewer }: RestoreSpec): readonly string[] {
  return ['--replace-data-of', replaceDataOf, ...(discardNewer === true ? ['--discard-newer'] : [])];
}

function clone({ lifecycle }: IngesterSpec): Extra {
  const { sourceSecret = '', sourceKeys, replaceDataOf } = lifecycle?.clone ?? {};
  const of = (variable: string, key: string): JsonObject => fromSecret(`INGESTER_CLONE_${variable}`, sourceSecret, key);
  const files = [secretFile('source', sourceSecret, 'password')];
  if (sourceKeys !== undefined) files.push(secretFile('source-keys', sourceKeys.name, sourceKeys.key, 'keys'));
  return {
    args: replaceDataOf === undefined ? [] : ['--replace-data-of', replaceDataOf],
    env: [of('HOST', 'host'), of('PORT', 'port'), of('USER', 'user'), of('DATABASE', 'database')],
    volumes: files,
    mounts: [
      readOnly('source', '/etc/ingester/source'),
      ...(sourceKeys === undefined ? [] : [readOnly('source-keys', '/etc/ingester/source-keys')]),
    ],
  };
}

function rotate(next: RotationSpec | undefined): Extra {
  if (next === undefined) return nothing;
  const { credentialsSecret, adminSecret } = next;
  return {
    args: [],
    env: [
      fromSecret('INGESTER_ROTATION_USER', credentialsSecret, 'user'),
      { name: 'INGESTER_ROTATION_PASSWORD_FILE', value: '/etc/ingester/next/password' },
      ...admin.env(adminSecret),
    ],
    volumes: [secretFile('next', credentialsSecret, 'password'), ...admin.volumes(adminSecret)],
    mounts: [readOnly('next', '/etc/ingester/next'), ...admin.mounts],
  };
}

function finish({ previous, adminSecret }: Credentials): Extra {
  return {
    args: [],
    env: [fromSecret('INGESTER_ROTATION_PREVIOUS_USER', previous, 'user'), ...admin.env(adminSecret)],
    volumes: admin.volumes(adminSecret),
    mounts: admin.mounts,
  };
}

const admin = {
  env: (secret: string): readonly JsonObject[] => [
    fromSecret('INGESTER_ROTATION_ADMIN_USER', secret, 'user'),
    { name: 'INGESTER_ROTATION_ADMIN_PASSWORD_FILE', value: '/etc/ingester/admin/password' },
  ],
  volumes: (secret: string): readonly JsonObject[] => [secretFile('admin', secret, 'password')],
  mounts: [readOnly('admin', '/etc/ingester/admin')],
} as const;

/** Sections of the configuration file that tasks share. */
export function taskSections(
  { namespace }: Parent,
  { environment = 'Production', lifecycle }: IngesterSpec,
): JsonObject {
  const { snapshots, clone: of } = lifecycle ?? {};
  return asJson({
    ...sharedSections(namespace),
    leaderElection: { enabled: false },
    ...(snapshots === undefined ? {} : { snapshots: { database: snapshots.database, keep: snapshots.keep } }),
    ...(of === undefined
      ? {}
      : {
          clone: {
            environment,
            passwordFile: '/etc/ingester/source/password',
            keyFile: of.sourceKeys === undefined ? undefined : '/etc/ingester/source-keys/keys',
            excludeKinds: of.excludeKinds,
            excludeNamespaces: of.excludeNamespaces,
            postSqlFile: of.postSQL === undefined ? undefined : '/etc/ingester/config/post.sql',
          },
        }),
  });
}

/** As a file; a statement ends where a line ends with a semicolon. */
export function postSqlText({ lifecycle }: IngesterSpec): string | undefined {
  const statements = lifecycle?.clone?.postSQL;
  return statements?.map((statement) => `${statement.trim().replace(/;$/, '')};\n`).join('');
}
