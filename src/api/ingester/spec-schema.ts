// Every field of an Ingester resource's spec. The CRD, docs/lifecycle-reference.md and the class of each change come from
// this table.
import type { Group } from './schema.ts';
import type { ComponentSpec, IngesterSpec, ScalableSpec, TaskSpec } from './spec.ts';
import {
  any,
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
  texts,
  whole,
} from './spec-fields.ts';

function componentFields(what: string): Group<ComponentSpec>['fields'] {
  return {
    config: leaf('upgrade', any, `Sections of the configuration file for ${what}, laid over spec.config.`),
    podTemplate: podSchema(`Pods of ${what}, laid over spec.podTemplate.`),
  };
}

function scalableFields(what: string): Group<ScalableSpec>['fields'] {
  return {
    ...componentFields(what),
    replicas: leaf('scale', whole(0, 1000), 'Number of pods; not used with autoscaling.', 1),
    autoscaling: {
      kind: 'group',
      description: 'A HorizontalPodAutoscaler decides the number of pods.',
      required: ['maxReplicas'],
      fields: {
        minReplicas: leaf('scale', whole(1, 1000), 'Fewest pods.', 1),
        maxReplicas: leaf('scale', whole(1, 1000), 'Most pods.'),
        targetCPUPercent: leaf('scale', whole(1, 1000), 'CPU use to aim at, in percent of the request.', 80),
      },
      rules: [
        {
          rule: '!has(self.minReplicas) || self.minReplicas <= self.maxReplicas',
          message: 'minReplicas must not be above maxReplicas',
        },
      ],
    },
    disruptionBudget: {
      kind: 'group',
      description: 'A PodDisruptionBudget protects the pods from evictions of nodes.',
      fields: {
        minAvailable: leaf('patch', whole(0, 1000), 'Pods that must stay.'),
        maxUnavailable: leaf('patch', whole(0, 1000), 'Pods that may be missing.'),
      },
      rules: [
        {
          rule: 'has(self.minAvailable) != has(self.maxUnavailable)',
          message: 'set exactly one of minAvailable and maxUnavailable',
        },
      ],
    },
  };
}

function taskFields(what: string): Group<TaskSpec>['fields'] {
  return {
    disabled: leaf('upgrade', flag, `Leaves ${what} out. What was completed stays completed.`, false),
    command: leaf('upgrade', list(text), `Command line instead of the built-in ${what}.`),
    trigger: leaf('upgrade', text, 'Any other value runs it, and what comes after it, again.'),
    requiresDrain: leaf('ignore', flag, 'Whether all components go before it runs.'),
    timeout: leaf('ignore', duration, 'Longest run; after it the attempt counts as failed.'),
    maxAttempts: leaf('ignore', whole(1, 100), 'Attempts until it counts as failed for good.', 3),
  };
}

export const specSchema: Group<IngesterSpec> = {
  kind: 'group',
  description: 'What should run.',
  required: ['version', 'database'],
  rules: [
    {
      rule: "!has(self.lifecycle) || !has(self.lifecycle.clone) || (has(self.environment) && self.environment != 'Production')",
      message: 'lifecycle.clone overwrites the database; it needs environment Development or Staging',
    },
  ],
  fields: {
    version: leaf(
      'upgrade',
      { type: 'string', minLength: 1, maxLength: 128 },
      'Version of the program, such as 1.4.2.',
    ),
    image: leaf('upgrade', name, 'Image; michelangelo-ingester:<version> unless given.'),
    imagePullPolicy: leaf('upgrade', oneOf('Always', 'IfNotPresent', 'Never'), 'Pull policy of every container.'),
    imagePullSecrets: leaf('upgrade', list(secretName), 'Names of Secrets to pull the image with.'),
    environment: leaf(
      'patch',
      oneOf('Development', 'Staging', 'Production'),
      'Production refuses what overwrites data.',
      'Production',
    ),
    suspend: leaf('ignore', flag, 'Changes nothing in the cluster; a task that runs goes on.', false),
    forceReload: leaf('upgrade', text, 'Any other value restarts all components and runs no task.'),
    database: {
      kind: 'group',
      description: 'The MySQL database. The lifecycle never reads a Secret; it names them to the pods.',
      required: ['credentialsSecret'],
      fields: {
        credentialsSecret: leaf(
          'upgrade',
          secretName,
          'Secret with user and password, and with host, port and database unless they are given here.',
        ),
        migrationCredentialsSecret: leaf(
          'upgrade',
          secretName,
          'The same for tasks, of a user who may create and alter tables. credentialsSecret unless given.',
        ),
        host: leaf('upgrade', name, 'Host of the server.'),
        port: leaf('upgrade', whole(1, 65_535), 'Port of the server.'),
        name: leaf('upgrade', name, 'Database.'),
        createDatabase: leaf(
          'ignore',
          flag,
          'Whether clone and migrate make the database where it is missing; the user of tasks needs CREATE on it.',
          false,
        ),
        tls: {
          kind: 'group',
          change: 'upgrade',
          description: 'Encrypts and verifies the connection.',
          fields: { caSecret: secretKey('Authorities to trust; those of the image unless given.') },
        },
        encryption: {
          kind: 'group',
          description: 'Seals sensitive values.',
          required: ['key'],
          fields: {
            key: secretKey('The key.'),
            previousKey: secretKey('The key before. The task rotate seals with the new one what it sealed.'),
          },
        },
        rotation: {
          kind: 'group',
          description: 'Other credentials instead of credentialsSecret, without a moment in which a login fails.',
          required: ['credentialsSecret', 'adminSecret'],
          fields: {
            credentialsSecret: leaf(
              'upgrade',
              secretName,
              'Secret like credentialsSecret with the new password, or with another user. Used as soon as it is valid; then the ' +
                'old one ends.',
            ),
            adminSecret: leaf(
              'upgrade',
              secretName,
              'Secret with user and password of who may create and alter users.',
            ),
          },
        },
      },
    },
    kinds: {
      kind: 'group',
      description: 'What is ingested, and how.',
      fields: {
        names: leaf('upgrade', list(name), 'Kinds to ingest; all unless given.'),
        tableNames: leaf('upgrade', oneOf('lowercase', 'snake_case'), 'Names of the tables.'),
        concurrency: leaf('upgrade', whole(1, 1000), 'Objects of one kind reconciled at once.'),
        concurrencyByKind: leaf(
          'upgrade',
          { type: 'object', additionalProperties: whole(1, 1000) },
          'For single kinds.',
        ),
        requeuePeriod: leaf('upgrade', duration, 'Longest wait before work that failed is tried again.'),
        requeuePeriodByKind: leaf('upgrade', { type: 'object', additionalProperties: duration }, 'For single kinds.'),
        deletionDelay: leaf('upgrade', duration, 'How long a deleted object stays in etcd.'),
        deletionDelayByKind: leaf('upgrade', { type: 'object', additionalProperties: duration }, 'For single kinds.'),
        evictImmutableKinds: leaf('upgrade', flag, 'Evicts every object of the immutable kinds.'),
        evictionRules: leaf('upgrade', list(any), 'Choose objects for eviction; docs/operations.md.'),
      },
    },
    config: leaf('upgrade', any, 'Sections of the configuration file for all components, as in docs/configuration.md.'),
    components: {
      kind: 'group',
      description: 'What runs. A component that is not named here does not run.',
      fields: {
        sync: {
          kind: 'group',
          change: 'upgrade',
          description: 'Copies, deletes and evicts.',
          fields: scalableFields('sync'),
        },
        query: {
          kind: 'group',
          change: 'upgrade',
          description: 'Serves what MySQL knows.',
          required: ['certificateSecret'],
          fields: {
            ...scalableFields('query'),
            certificateSecret: leaf(
              'upgrade',
              secretName,
              'Secret with tls.crt and tls.key, also used by the maintenance page.',
            ),
          },
        },
        audit: {
          kind: 'group',
          change: 'upgrade',
          description: 'Compares MySQL with the cluster, one pod at a time.',
          fields: componentFields('audit'),
        },
      },
    },
    podTemplate: podSchema('Pods of every component and task.'),
    networking: {
      kind: 'group',
      description: 'Publishes query outside of the cluster.',
      required: ['hosts'],
      rules: [
        { rule: 'has(self.ingress) != has(self.httpRoute)', message: 'set exactly one of ingress and httpRoute' },
      ],
      fields: {
        hosts: leaf('patch', list(name, 16), 'Host names.'),
        ingress: {
          kind: 'group',
          change: 'patch',
          description: 'By an Ingress.',
          fields: {
            className: leaf('patch', name, 'Class of the Ingress.'),
            tlsSecret: leaf('patch', secretName, 'Secret with the certificate for the hosts.'),
            annotations: leaf('patch', texts, 'Annotations of the Ingress.'),
          },
        },
        httpRoute: {
          kind: 'group',
          description: 'By a HTTPRoute of the Gateway API, where that is installed.',
          required: ['parentRefs'],
          fields: { parentRefs: leaf('patch', list(any, 16), 'Gateways.') },
        },
      },
    },
    monitoring: {
      kind: 'group',
      change: 'patch',
      description: 'A ServiceMonitor, where the operator of Prometheus is installed.',
      fields: {
        interval: leaf('patch', duration, 'How often metrics are read.', '30s'),
        labels: leaf('patch', texts, 'Labels of the ServiceMonitor.'),
      },
    },
    networkPolicy: {
      kind: 'group',
      change: 'patch',
      description:
        'One NetworkPolicy for each component: the port it serves, and metrics for namespaces labelled ingester.michelangelo.api/metrics=true.',
      fields: { extraIngress: leaf('patch', list(any), 'More that may connect.') },
    },
    lifecycle: {
      kind: 'group',
      description: 'How changes are made.',
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
            'restore needs migrate, which suits the snapshot to this version, and init, which compares it with the cluster',
        },
      ],
      fields: {
        upgradeMode: leaf(
          'ignore',
          oneOf('Automatic', 'Supervised'),
          'Supervised: a person approves each version.',
          'Automatic',
        ),
        approvalTimeout: leaf('ignore', duration, 'After this a request for approval is made anew.', '168h'),
        stateMode: leaf(
          'ignore',
          oneOf('Stateless', 'LastState', 'Savepoint'),
          'What is kept before a migration: nothing, what is committed, or a snapshot of the database; docs/lifecycle.md.',
          'LastState',
        ),
        snapshots: {
          kind: 'group',
          description: 'Where snapshots of the database go: another database of the same server.',
          required: ['database'],
          fields: {
            database: leaf('ignore', name, 'Name of that database.'),
            keep: leaf('ignore', whole(1, 1000), 'How many stay; the newest and those referred to always do.', 10),
            schedule: leaf(
              'ignore',
              { type: 'string', maxLength: 128 },
              'When one is taken besides: a cron expression with five fields, in UTC.',
            ),
          },
        },
        restore: {
          kind: 'group',
          description: 'Puts the database back to a snapshot, once.',
          required: ['snapshot', 'nonce', 'replaceDataOf'],
          fields: {
            snapshot: leaf(
              'ignore',
              { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,31}$' },
              'Its name, as "ingester snapshots list" has it.',
            ),
            nonce: leaf(
              'restore',
              { type: 'string', minLength: 1, maxLength: 63 },
              'A value that was not here before restores, once. One that is here when the resource is made does nothing.',
            ),
            replaceDataOf: leaf(
              'ignore',
              name,
              'Name of the database whose data is replaced, to show that it is meant.',
            ),
            discardNewer: leaf(
              'ignore',
              flag,
              'Also where objects that ended since, and are in MySQL only, would be lost.',
              false,
            ),
          },
        },
        drainTimeout: leaf('ignore', duration, 'After this a drain that is not over is reported as stuck.', '5m'),
        rollback: {
          kind: 'group',
          description: 'Going back to what ran well before, as long as no migration changed the schema.',
          fields: {
            enabled: leaf('ignore', flag, 'Whether that happens by itself.', true),
            deadline: leaf('ignore', duration, 'How long an attempt may take.', '15m'),
          },
        },
        jobRetention: leaf(
          'ignore',
          oneOf('Delete', 'Retain', 'RetainOnFailure'),
          'What becomes of the Jobs of tasks.',
          'RetainOnFailure',
        ),
        maintenancePage: {
          kind: 'group',
          change: 'ignore',
          description: 'Answers for query while it is drained.',
          fields: {
            title: leaf('patch', text, 'Title of the page.'),
            message: leaf('patch', text, 'Text of the page.'),
            retryAfterSeconds: leaf('patch', whole(1, 3600), 'When clients should ask again.', 10),
          },
        },
        podTemplate: podSchema('Pods of tasks, laid over spec.podTemplate.'),
        clone: {
          kind: 'group',
          change: 'upgrade',
          description: 'Copies another metadata database over this one. Never in Production.',
          required: ['sourceSecret'],
          rules: [
            {
              rule: '!has(self.schedule) || has(self.replaceDataOf)',
              message: 'every clone but the first finds data; a schedule needs replaceDataOf, the name of the database',
            },
          ],
          fields: {
            ...taskFields('clone'),
            sourceSecret: leaf(
              'upgrade',
              secretName,
              'Secret with host, port, database, user and password of the source.',
            ),
            sourceKeys: secretKey('The keys that sealed sensitive values of the source, one a line.'),
            replaceDataOf: leaf(
              'upgrade',
              name,
              'Name of the database whose data may be replaced. Without it a database that holds data is left alone.',
            ),
            excludeKinds: leaf('upgrade', list(name), 'Kinds to leave out.'),
            excludeNamespaces: leaf('upgrade', list(name), 'Namespaces whose objects are left out.'),
            postSQL: leaf('upgrade', list(statement), 'Statements that run on the copy.'),
            schedule: leaf('upgrade', { type: 'string', maxLength: 128 }, 'Cron expression with five fields, in UTC.'),
          },
        },
        migrate: { kind: 'group', description: 'Brings the schema to this version.', fields: taskFields('migrate') },
        rotate: { kind: 'group', description: 'Seals with the current key.', fields: taskFields('rotate') },
        init: { kind: 'group', description: 'Creates and fills in what is missing.', fields: taskFields('init') },
      },
    },
  },
};
