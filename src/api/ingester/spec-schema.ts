// Every field of an Ingester resource's spec. The CRD, docs/lifecycle-reference.md and the class of each change come from
// this table.

import { lifecycleSchema } from './lifecycle-schema.ts';
import type { Group } from './schema.ts';
import type { ComponentSpec, IngesterSpec, ScalableSpec } from './spec.ts';
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
  text,
  texts,
  whole,
} from './spec-fields.ts';

function componentFields(what: string): Group<ComponentSpec>['fields'] {
  return {
    config: leaf(
      'upgrade',
      any,
      `Configuration file of ${what}: sections as in docs/configuration.md, merged over spec.config key by key.`,
    ),
    podTemplate: podSchema(`Pod template of ${what}, merged over spec.podTemplate.`),
  };
}

function scalableFields(what: string): Group<ScalableSpec>['fields'] {
  return {
    ...componentFields(what),
    replicas: leaf('scale', whole(0, 1000), 'Number of replicas; ignored with autoscaling.', 1),
    autoscaling: {
      kind: 'group',
      description: 'Creates a HorizontalPodAutoscaler, which sets the number of replicas.',
      required: ['maxReplicas'],
      fields: {
        minReplicas: leaf('scale', whole(1, 1000), 'Lower limit of replicas.', 1),
        maxReplicas: leaf('scale', whole(1, 1000), 'Upper limit of replicas.'),
        targetCPUPercent: leaf('scale', whole(1, 1000), 'Target CPU utilization, in percent of the CPU request.', 80),
        behavior: leaf('scale', any, 'How fast the number changes: behavior of a HorizontalPodAutoscaler.'),
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
      description: 'Creates a PodDisruptionBudget, which limits voluntary disruptions such as node drains.',
      fields: {
        minAvailable: leaf('patch', whole(0, 1000), 'Replicas that stay available during a disruption.'),
        maxUnavailable: leaf('patch', whole(0, 1000), 'Replicas that may be unavailable during a disruption.'),
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

export const specSchema: Group<IngesterSpec> = {
  kind: 'group',
  description: 'Desired state of the installation.',
  required: ['version', 'database'],
  rules: [
    {
      rule: "!has(self.lifecycle) || !has(self.lifecycle.clone) || (has(self.environment) && self.environment != 'Production')",
      message: 'lifecycle.clone overwrites the database; it needs environment Development or Staging',
    },
  ],
  fields: {
    version: leaf('upgrade', { type: 'string', minLength: 1, maxLength: 128 }, 'Version to install, such as 1.4.2.'),
    image: leaf('upgrade', name, 'Container image. Default: michelangelo-ingester:<version>.'),
    imagePullPolicy: leaf('upgrade', oneOf('Always', 'IfNotPresent', 'Never'), 'Image pull policy of every container.'),
    imagePullSecrets: leaf('upgrade', list(secretName), 'Names of the image pull Secrets.'),
    environment: leaf(
      'patch',
      oneOf('Development', 'Staging', 'Production'),
      'Kind of installation. In Production, lifecycle.clone is refused because it overwrites data.',
      'Production',
    ),
    suspend: leaf('ignore', flag, 'Stops all changes by the lifecycle controller. A running task continues.', false),
    // Without a default: the API server would add it to stored specifications, which would become others by that.
    suspendMode: leaf(
      'ignore',
      oneOf('Pause', 'ScaleToZero'),
      'What becomes of the components while suspend is true: they stay (Pause, the default), or are scaled to zero until it is false (ScaleToZero).',
    ),
    forceReload: leaf('upgrade', text, 'A new value restarts all components without running a task.'),
    database: {
      kind: 'group',
      description: 'The MySQL database. The lifecycle controller never reads a Secret; the pods reference them.',
      required: ['credentialsSecret'],
      fields: {
        credentialsSecret: leaf(
          'upgrade',
          secretName,
          'Name of a Secret with the keys user and password; also host, port and database unless set below.',
        ),
        migrationCredentialsSecret: leaf(
          'upgrade',
          secretName,
          'Name of the Secret for tasks, with a user who may create and alter tables. Default: credentialsSecret.',
        ),
        host: leaf('upgrade', name, 'Host of the MySQL server. Default: the key host of credentialsSecret.'),
        port: leaf(
          'upgrade',
          whole(1, 65_535),
          'Port of the MySQL server. Default: the key port of credentialsSecret.',
        ),
        name: leaf(
          'upgrade',
          name,
          'Name of the database. Default: the key database of credentialsSecret. Cannot change after the first success.',
        ),
        createDatabase: leaf(
          'ignore',
          flag,
          'Whether clone and migrate create a missing database; the user for tasks needs the CREATE privilege.',
          false,
        ),
        tls: {
          kind: 'group',
          change: 'upgrade',
          description: 'Encrypts connections to MySQL with TLS and verifies the server certificate.',
          fields: { caSecret: secretKey('Certificate authorities to trust. Default: those of the image.') },
        },
        encryption: {
          kind: 'group',
          description: 'Encrypts sensitive values in MySQL.',
          required: ['key'],
          fields: {
            key: secretKey('The encryption key.'),
            previousKey: secretKey('The previous key. The task rotate encrypts its values again with the new one.'),
          },
        },
        rotation: {
          kind: 'group',
          description: 'Replaces the credentials of credentialsSecret without downtime.',
          required: ['credentialsSecret', 'adminSecret'],
          fields: {
            credentialsSecret: leaf(
              'upgrade',
              secretName,
              'Name of a Secret like credentialsSecret, with a new password or another user. Components use it as soon as it ' +
                'is valid; then the old credentials are revoked.',
            ),
            adminSecret: leaf(
              'upgrade',
              secretName,
              'Name of a Secret with user and password of a MySQL user who may create and alter users.',
            ),
          },
        },
      },
    },
    kinds: {
      kind: 'group',
      description: 'Which kinds are ingested, and how.',
      fields: {
        names: leaf('upgrade', list(name), 'Kinds to ingest. Default: all.'),
        tableNames: leaf(
          'upgrade',
          oneOf('auto', 'lowercase', 'snake_case'),
          'Naming of the tables: as the database has them, pipeline_run where it is new (auto, the default); pipelinerun (lowercase); pipeline_run (snake_case). After the first success it can only become auto.',
        ),
        concurrency: leaf('upgrade', whole(1, 1000), 'Maximum concurrent reconciles of one kind.'),
        concurrencyByKind: leaf(
          'upgrade',
          { type: 'object', additionalProperties: whole(1, 1000) },
          'The same, by kind.',
        ),
        requeuePeriod: leaf('upgrade', duration, 'Maximum delay before a failed reconcile is retried.'),
        requeuePeriodByKind: leaf('upgrade', { type: 'object', additionalProperties: duration }, 'The same, by kind.'),
        deletionDelay: leaf(
          'upgrade',
          duration,
          'How long a deleted object stays in etcd after MySQL has its final state.',
        ),
        deletionDelayByKind: leaf('upgrade', { type: 'object', additionalProperties: duration }, 'The same, by kind.'),
        evictImmutableKinds: leaf(
          'upgrade',
          flag,
          'Evicts every object of the immutable kinds (Model, CachedOutput) from etcd; MySQL keeps it.',
        ),
        evictionRules: leaf('upgrade', list(any), 'Rules that select objects for eviction; see docs/operations.md.'),
      },
    },
    config: leaf('upgrade', any, 'Configuration file of all components: sections as in docs/configuration.md.'),
    components: {
      kind: 'group',
      description: 'Components to run. A component that is not listed does not run.',
      fields: {
        sync: {
          kind: 'group',
          change: 'upgrade',
          description: 'The reconciler: copies objects to MySQL, deletes and evicts.',
          rules: [
            {
              rule: "!has(self.active) || self.active != 'All' || ((!has(self.replicas) || self.replicas <= 16) && (!has(self.autoscaling) || self.autoscaling.maxReplicas <= 16))",
              message: 'with active All there are at most 16 replicas',
            },
          ],
          fields: {
            ...scalableFields('sync'),
            // Without a default, as suspendMode.
            active: leaf(
              'patch',
              oneOf('One', 'All'),
              'Which replicas work: one, and the others stand by (One, the default), or each on its part of the objects (All, at most 16; needs the rights of the component active-replicas).',
            ),
          },
        },
        query: {
          kind: 'group',
          change: 'upgrade',
          description: 'The query API: serves the objects in MySQL.',
          required: ['certificateSecret'],
          fields: {
            ...scalableFields('query'),
            certificateSecret: leaf(
              'upgrade',
              secretName,
              'Name of a Secret with tls.crt and tls.key; the maintenance page uses it, too.',
            ),
          },
        },
        audit: {
          kind: 'group',
          change: 'upgrade',
          description: 'Compares MySQL with the cluster; always one replica.',
          fields: componentFields('audit'),
        },
      },
    },
    podTemplate: podSchema('Pod template of every component and task.'),
    networking: {
      kind: 'group',
      description: 'Publishes the query API outside of the cluster.',
      required: ['hosts'],
      rules: [
        { rule: 'has(self.ingress) != has(self.httpRoute)', message: 'set exactly one of ingress and httpRoute' },
      ],
      fields: {
        hosts: leaf('patch', list(name, 16), 'Host names.'),
        ingress: {
          kind: 'group',
          change: 'patch',
          description: 'Creates an Ingress.',
          fields: {
            className: leaf('patch', name, 'IngressClass.'),
            tlsSecret: leaf('patch', secretName, 'Name of the Secret with the certificate for the hosts.'),
            annotations: leaf('patch', texts, 'Annotations of the Ingress.'),
          },
        },
        httpRoute: {
          kind: 'group',
          description: 'Creates an HTTPRoute, if the Gateway API is installed.',
          required: ['parentRefs'],
          fields: { parentRefs: leaf('patch', list(any, 16), 'Gateways to attach the route to.') },
        },
      },
    },
    monitoring: {
      kind: 'group',
      change: 'patch',
      description: 'Creates a ServiceMonitor, if the Prometheus Operator is installed.',
      fields: {
        interval: leaf('patch', duration, 'Scrape interval.', '30s'),
        labels: leaf('patch', texts, 'Labels of the ServiceMonitor.'),
      },
    },
    networkPolicy: {
      kind: 'group',
      change: 'patch',
      description:
        'Creates a NetworkPolicy for each component. It allows the port that the component serves, and metrics from namespaces with the label ingester.michelangelo.api/metrics=true.',
      fields: { extraIngress: leaf('patch', list(any), 'Further ingress rules of the NetworkPolicies.') },
    },
    lifecycle: lifecycleSchema,
  },
};
