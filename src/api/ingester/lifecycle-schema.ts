// Fields of spec.lifecycle, as part of the table in spec-schema.ts.
import type { Group, Leaf } from './schema.ts';
import { backoffBounds, type LifecycleSpec, type TaskSpec } from './spec.ts';
import {
  duration,
  flag,
  leaf,
  list,
  name,
  oneOf,
  podSchema,
  secretKey,
  secretName,
  statement,
  text,
  whole,
} from './spec-fields.ts';

function taskFields(what: string): Group<TaskSpec>['fields'] {
  return {
    disabled: leaf('upgrade', flag, `Skips ${what}. A completed run stays completed.`, false),
    command: leaf('upgrade', list(text), `Command that replaces the built-in ${what}.`),
    trigger: leaf('upgrade', text, `A new value runs ${what} and the tasks after it again.`),
    requiresQuiesce: leaf(
      'ignore',
      flag,
      `Whether ${what} quiesces writers: all components are removed before it runs. Default: true for clone and migrate.`,
    ),
    timeout: leaf('ignore', duration, 'Maximum duration of an attempt; a longer one fails.'),
    maxAttempts: leaf(
      'ignore',
      whole(1, 100),
      'Maximum number of attempts; after the last one the change has failed.',
      3,
    ),
    backoff: {
      kind: 'group',
      description: 'How long to wait between attempts.',
      rules: [
        {
          rule: '!has(self.duration) || !has(self.maxDuration) || duration(self.duration) <= duration(self.maxDuration)',
          message: 'duration must not be above maxDuration, which is 5m unless set',
        },
      ],
      fields: {
        duration: wait('Wait after the first attempt that failed.', '10s'),
        factor: leaf('ignore', whole(1, 10), 'By what the wait is multiplied after each further attempt.', 2),
        maxDuration: wait('Longest wait.', '5m'),
      },
    },
  };
}

function wait(description: string, initial: string): Leaf {
  const { min, max } = backoffBounds;
  return {
    ...leaf('ignore', duration, description, initial),
    rules: [
      {
        rule: `duration(self) >= duration('${min}') && duration(self) <= duration('${max}')`,
        message: `a wait is between ${min} and ${max}`,
      },
    ],
  };
}

export const lifecycleSchema: Group<LifecycleSpec> = {
  kind: 'group',
  description: 'How changes are rolled out.',
  rules: [
    {
      rule: "!has(self.stateMode) || self.stateMode != 'Savepoint' || has(self.snapshots)",
      message: 'stateMode Savepoint needs snapshots.database',
    },
    { rule: '!has(self.restore) || has(self.snapshots)', message: 'restore needs snapshots.database' },
    {
      rule:
        '!has(self.restore) || ((!has(self.migrate) || !has(self.migrate.disabled) || !self.migrate.disabled) && ' +
        '(!has(self.init) || !has(self.init.disabled) || !self.init.disabled))',
      message:
        'restore needs the tasks migrate, which migrates the snapshot to this version, and init, which compares it with the cluster',
    },
  ],
  fields: {
    upgradeMode: leaf(
      'ignore',
      oneOf('Automatic', 'Supervised'),
      'Automatic, or Supervised: a user approves each upgrade by an annotation.',
      'Automatic',
    ),
    approvalTimeout: leaf(
      'ignore',
      duration,
      'Lifetime of a request for approval; then a new one with a new token is made.',
      '168h',
    ),
    stateMode: leaf(
      'ignore',
      oneOf('Stateless', 'LastState', 'Savepoint'),
      'What is kept before a task changes the database: nothing (Stateless), the committed data (LastState) or a snapshot (Savepoint); see docs/lifecycle.md.',
      'LastState',
    ),
    snapshots: {
      kind: 'group',
      description: 'Snapshots of the database, stored in another database on the same server.',
      required: ['database'],
      fields: {
        database: leaf('ignore', name, 'Name of the database that holds the snapshots.'),
        keep: leaf(
          'ignore',
          whole(1, 1000),
          'Number of snapshots to keep. The newest and those that are referenced always stay.',
          10,
        ),
        schedule: leaf(
          'ignore',
          { type: 'string', maxLength: 128 },
          'When snapshots are also taken: a cron expression with five fields, in UTC.',
        ),
      },
    },
    restore: {
      kind: 'group',
      description: 'Restores the database from a snapshot, once for each nonce.',
      required: ['snapshot', 'nonce', 'replaceDataOf'],
      fields: {
        snapshot: leaf(
          'ignore',
          { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,31}$' },
          'Name of the snapshot, as printed by "ingester snapshots list".',
        ),
        nonce: leaf(
          'restore',
          { type: 'string', minLength: 1, maxLength: 63 },
          'A new value starts the restore, once. A value that is set when the resource is created does nothing.',
        ),
        replaceDataOf: leaf('ignore', name, 'Name of the database whose data is replaced, as a confirmation.'),
        discardNewer: leaf(
          'ignore',
          flag,
          'Restores although objects would be lost that were deleted or evicted after the snapshot and are in MySQL only.',
          false,
        ),
      },
    },
    quiesceTimeout: leaf(
      'ignore',
      duration,
      'After this time, pods that have not stopped are reported with the reason QuiesceStuck.',
      '5m',
    ),
    rollback: {
      kind: 'group',
      description:
        'Rollback of a failed change to the last version that ran well. Only possible until a task has changed the database.',
      fields: {
        enabled: leaf('ignore', flag, 'Whether a failed change is rolled back automatically.', true),
        deadline: leaf('ignore', duration, 'How long a change may take before it is rolled back.', '15m'),
      },
    },
    jobRetention: leaf(
      'ignore',
      oneOf('Delete', 'Retain', 'RetainOnFailure'),
      'Which finished Jobs are kept.',
      'RetainOnFailure',
    ),
    maintenancePage: {
      kind: 'group',
      change: 'ignore',
      description: 'Creates a page that answers for the query API while its pods are removed.',
      fields: {
        title: leaf('patch', text, 'Title of the page.'),
        message: leaf('patch', text, 'Text of the page.'),
        retryAfterSeconds: leaf('patch', whole(1, 3600), 'Retry-After header of the answers, in seconds.', 10),
      },
    },
    podTemplate: podSchema('Pod template of tasks, merged over spec.podTemplate.'),
    clone: {
      kind: 'group',
      change: 'upgrade',
      description: 'Replaces the data by a copy of another metadata database. Refused in Production.',
      required: ['sourceSecret'],
      rules: [
        {
          rule: '!has(self.schedule) || has(self.replaceDataOf)',
          message:
            'every clone after the first one finds data; a schedule needs replaceDataOf, the name of the database',
        },
      ],
      fields: {
        ...taskFields('clone'),
        sourceSecret: leaf(
          'upgrade',
          secretName,
          'Name of a Secret with host, port, database, user and password of the source.',
        ),
        sourceKeys: secretKey('The encryption keys of the source, one per line.'),
        replaceDataOf: leaf(
          'upgrade',
          name,
          'Name of the database whose data may be replaced. Without it, clone refuses a database that holds data.',
        ),
        excludeKinds: leaf('upgrade', list(name), 'Kinds that are not copied.'),
        excludeNamespaces: leaf('upgrade', list(name), 'Namespaces whose objects are not copied.'),
        postSQL: leaf('upgrade', list(statement), 'SQL statements that run on the copy.'),
        schedule: leaf(
          'upgrade',
          { type: 'string', maxLength: 128 },
          'When the clone is repeated: a cron expression with five fields, in UTC.',
        ),
      },
    },
    migrate: {
      kind: 'group',
      description: 'Migrates the database schema to this version.',
      fields: taskFields('migrate'),
    },
    rotate: {
      kind: 'group',
      description: 'Encrypts with the current key and rotates the database credentials.',
      fields: taskFields('rotate'),
    },
    init: {
      kind: 'group',
      description:
        'Creates missing tables, stores every object of the cluster, adds the finalizer, and compares MySQL with the cluster.',
      fields: taskFields('init'),
    },
  },
};
