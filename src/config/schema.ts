// Every configuration key, its type, default and help. docs/configuration.md is generated from this file.
import { isIP } from 'node:net';
import * as z from 'zod';
import { compareApiVersions } from '../api/api-version.ts';
import { syncSections } from './sync-settings.ts';
import { taskSections } from './task-settings.ts';
import {
  address,
  defaultKindNames,
  duration,
  flag,
  integer,
  kindList,
  mode,
  perKind,
  section,
  text,
  zeroMeans,
} from './values.ts';

/** What differs from the section mysql. */
const otherDatabase = z.strictObject(
  {
    host: text.optional(),
    port: integer(1, 65_535).optional(),
    user: text.optional(),
    passwordFile: text.optional(),
    database: text.min(1, { error: 'expected the name of a database' }),
  },
  { error: 'expected a map of keys' },
);

const otherClusters = z
  .array(
    z.strictObject({
      name: text
        .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'expected a name such as eu-1: a DNS label' })
        .refine((name) => name !== 'in-cluster', { error: 'this is the name of the cluster that answers' }),
      /** Empty: the cluster is retired. */
      kubeconfig: text,
      mysql: otherDatabase,
    }),
    { error: 'expected a list of clusters' },
  )
  .max(50, { error: 'expected 50 clusters at most' })
  .refine((clusters) => new Set(clusters.map(({ name }) => name)).size === clusters.length, {
    error: 'expected each name once',
  });

const concurrency = zeroMeans(320, integer(0, 1000));
const requeuePeriod = zeroMeans(30_000, duration);

export const schema = z.strictObject({
  metadataStorage: section({
    enableMetadataStorage: flag
      .default(false)
      .describe(
        'Copies objects into MySQL. While it is off, the reconciler stays idle and the webhook adds no finalizer to new objects.',
      ),
    tableNames: mode(['auto', 'lowercase', 'snake_case'])
      .default('auto')
      .describe(
        'Naming of the tables, for `task migrate`: as the database has them, `pipeline_run` where it is new (auto); `pipelinerun` (lowercase); `pipeline_run` (snake_case). Both occur in databases of the original; every other program finds out.',
      ),
  }),
  mysql: section({
    enabled: flag.default(false).describe('Allows an otherwise empty mysql section, with all defaults.'),
    host: text.default('').describe('Host name or address of the MySQL server.'),
    port: integer(1, 65_535).default(3306).describe('Port of the MySQL server.'),
    user: text.default('').describe('User with SELECT, INSERT, UPDATE and DELETE on the database.'),
    password: text.default('').describe('Password. Prefer passwordFile, which keeps the password out of this file.'),
    passwordFile: text
      .default('')
      .describe('File whose first line is the password. When the file changes, new connections use the new password.'),
    database: text.default('').describe('Database that holds the tables.'),
    maxOpenConns: zeroMeans(25, integer(0, 1000))
      .prefault(25)
      .describe('Maximum number of open connections. 0: the default.'),
    maxIdleConns: zeroMeans(5, integer(0, 1000))
      .prefault(5)
      .describe('Maximum number of idle connections kept open. 0: the default.'),
    connMaxLifetime: zeroMeans(300_000, duration)
      .prefault('5m')
      .describe('Maximum age of a connection. 0: the default.'),
    readTimeout: duration.prefault('30s').describe('Maximum time for the answer to a statement.'),
    tlsMode: mode(['off', 'verify'])
      .default('off')
      .describe(
        'verify: encrypts, and accepts only a certificate of a trusted authority for this host name. The manifests ' +
          'set it. off: no TLS; logs a warning at the start unless the host is a loopback address.',
      ),
    tlsCaFile: text
      .default('')
      .describe('PEM file with the certificate authorities that verify trusts. Empty: those of Node.'),
  })
    .refine((mysql) => mysql.tlsCaFile === '' || mysql.tlsMode === 'verify', {
      path: ['tlsCaFile'],
      error: 'this has no effect unless mysql.tlsMode is verify',
    })
    .refine((mysql) => mysql.tlsMode === 'off' || isIP(mysql.host) === 0, {
      path: ['host'],
      error:
        'with tlsMode verify this must be a host name: the certificate of an address is not verified by the driver',
    })
    .refine((mysql) => mysql.password === '' || mysql.passwordFile === '', {
      path: ['passwordFile'],
      error: 'set either password or passwordFile, not both',
    }),
  encryption: section({
    keyFile: text
      .default('')
      .describe(
        'File with a key of 32 bytes (base64 or hexadecimal) that encrypts sensitive values. Empty: they are masked.',
      ),
    previousKeyFile: text
      .default('')
      .describe('File with previous keys, one per line: they decrypt values that are not rotated yet.'),
  }).refine(({ keyFile, previousKeyFile }) => previousKeyFile === '' || keyFile !== '', {
    path: ['previousKeyFile'],
    error: 'this has no effect unless encryption.keyFile is set',
  }),
  ingester: section({
    kinds: kindList
      .default([...defaultKindNames])
      .describe(
        'Kinds to ingest. New objects of others get no finalizer where this says so; rows of others stay as they are.',
      ),
    concurrentReconciles: concurrency
      .prefault(320)
      .describe(
        'Maximum concurrent reconciles of one kind. Reconciles that wait for MySQL share transactions. 0: the default.',
      ),
    concurrentReconcilesMap: perKind(concurrency).default({}).describe('The same, by kind.'),
    requeuePeriod: requeuePeriod
      .prefault('30s')
      .describe('Maximum delay before a failed reconcile is retried. 0: the default.'),
    requeuePeriodMap: perKind(requeuePeriod).default({}).describe('The same, by kind.'),
    evictImmutableKinds: flag
      .default(false)
      .describe('Evicts every object of the immutable kinds (Model, CachedOutput) from etcd, as the original does.'),
    deletionDelay: duration
      .prefault('0s')
      .describe(
        'How long a deleted object stays in etcd after MySQL has its final state. Evicted objects do not wait.',
      ),
    deletionDelayMap: perKind(duration).default({}).describe('The same, by kind.'),
  }),
  finalizerSweep: section({
    rate: integer(1, 10_000)
      .default(50)
      .describe('Maximum number of objects per second that get the finalizer after they were created without it.'),
  }),
  audit: section({
    period: duration.prefault('1h').describe('Interval at which MySQL is compared with the cluster. 0s: never.'),
  }),
  ...syncSections,
  kubernetes: section({
    kubeconfig: text
      .default('')
      .describe(
        'Path of a kubeconfig. Empty: that of KUBECONFIG, otherwise the service account of the pod, otherwise ~/.kube/config.',
      ),
    context: text.default('').describe('Context of the kubeconfig. Empty: its current context.'),
    qps: integer(0, 100_000)
      .default(0)
      .describe('Maximum requests per second to the API server. 0: no limit; API priority and fairness still applies.'),
    namespace: text
      .default('ingester-system')
      .describe('Namespace of the bundle, which has its leases and its ConfigMaps.'),
  }),
  leaderElection: section({
    enabled: flag
      .default(false)
      .describe('Whether only one of several replicas is active. Required with more than one replica.'),
    active: mode(['one', 'all'])
      .default('one')
      .describe(
        'one: of several reconcilers one works and the others stand by. all: each works on its part of the objects ([runtime](runtime.md#several-replicas-at-work)); takes leaderElection.enabled.',
      ),
  }).refine(({ enabled, active }) => enabled || active === 'one', {
    path: ['active'],
    error: 'this takes leaderElection.enabled: replicas share the work by leases',
  }),
  server: section({
    bindAddress: address
      .optional()
      .describe(
        'Address of the HTTPS server, host:port, or :port for all addresses of IPv4 and IPv6: of the webhook (unless given :9443), of the query API or of the page that replaces it during maintenance (:6443).',
      ),
    certDir: text.default('/tls').describe('Folder with tls.crt and tls.key of that server.'),
  }),
  webhook: section({
    clientCaFile: text
      .default('')
      .describe(
        'PEM file with the authority of the client certificate that the API server presents. Empty: no client certificate is required.',
      ),
    clientName: text
      .default('')
      .describe('Common name that the client certificate must have. Empty: any certificate of that authority.'),
    reconcilerUser: text
      .default('system:serviceaccount:ingester-system:ingester-reconciler')
      .describe(
        'Kubernetes user of the reconciler. When this user removes the finalizer, the webhook does not add it again.',
      ),
    reconcilerConfig: text
      .default('/etc/ingester/reconciler/config.yaml')
      .describe(
        'Configuration file of the reconciler. If it switches metadata storage off, new objects get no finalizer.',
      ),
    shutdownDelay: duration
      .prefault('5s')
      .describe('How long to keep serving after SIGTERM, until every node has removed this endpoint.'),
  }).refine(({ clientCaFile, clientName }) => clientName === '' || clientCaFile !== '', {
    path: ['clientName'],
    error: 'this has no effect unless webhook.clientCaFile is set',
  }),
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
    createMarked: mode(['allow', 'deny', 'warn'])
      .default('allow')
      .describe(
        'For a new object that is already marked: allow (for eviction; one marked for deletion is denied), deny or warn.',
      ),
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
  query: section({
    requestTimeout: duration
      .prefault('60s')
      .describe('Maximum time until the first page of an answer, and to wait for minResourceVersion.'),
    userRequestsPerSecond: integer(0, 10_000)
      .default(50)
      .describe('Maximum requests per second of one user, on average; more get 429. 0: no limit.'),
    templates: z
      .array(z.unknown(), { error: 'expected a list of query templates' })
      .default([])
      .describe('Your named queries; see [storage](storage.md#reading).'),
    clusters: otherClusters
      .default([])
      .describe(
        'Other clusters, each with its own database, that the query API answers for; see [query](query.md#many-clusters).',
      ),
  }),
  health: section({
    bindAddress: address.prefault(':8081').describe('Address of /healthz and /readyz, host:port, plain HTTP.'),
  }),
  metrics: section({
    bindAddress: address
      .optional()
      .describe(
        'Address of /metrics over HTTPS, host:port, for users that the API server knows and allows to get the path. Unless it is given, /metrics is at health.bindAddress, for all clients.',
      ),
    certDir: text
      .default('')
      .describe('Folder with tls.crt and tls.key of that server; unless it is given, the server makes its own.'),
  }),
  log: section({
    level: mode(['debug', 'info', 'warn', 'error']).default('info').describe('Lowest level that is logged.'),
  }),
});

type Immutable<T> = unknown extends T ? T : { readonly [Key in keyof T]: Immutable<T[Key]> };

/** The validated configuration. Durations are milliseconds. */
export type Configuration = Immutable<z.output<typeof schema>>;

/** With the sections that tasks alone read. */
export const taskSchema = schema.extend(taskSections);

export type TaskConfiguration = Immutable<z.output<typeof taskSchema>>;
