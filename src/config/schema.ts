// Every configuration key, its type, default and help. docs/configuration.md is generated from this file.
import { isIP } from 'node:net';
import * as z from 'zod';
import { compareApiVersions } from '../api/api-version.ts';
import type { DowngradeMode } from '../api/kind.ts';
import type { TableNames } from '../api/kind-names.ts';
import { defaultKinds } from '../api/kinds.ts';
import type { LogLevel } from '../base/logger.ts';
import { type SyncSettings, syncSections } from './sync-settings.ts';
import { type TaskSettings, taskSections } from './task-settings.ts';
import { duration, flag, integer, kindName, mode, perKind, text } from './values.ts';

/** A removed or never working key of the original; named so that the message can say what to do. */
function unsupported(what: string): z.ZodOptional<z.ZodUndefined> {
  return z.undefined({ error: what }).optional();
}

const section = { error: 'expected a map of keys' };

const schema = z.strictObject(
  {
    metadataStorage: z
      .strictObject(
        {
          enableMetadataStorage: flag
            .default(false)
            .describe(
              'Copies objects into MySQL. While it is off the reconciler stays idle and the webhook guards no new object.',
            ),
          tableNames: z
            .enum(['lowercase', 'snake_case'], { error: 'expected lowercase or snake_case' })
            .default('lowercase')
            .describe('Names of the tables: `pipelinerun` or `pipeline_run`. Both occur in databases of the original.'),
          deletionDelay: unsupported('this key never had an effect in the original and has none here; remove it'),
          enableResourceVersionCache: unsupported(
            'this key never had an effect in the original and has none here; remove it',
          ),
        },
        section,
      )
      .prefault({}),
    mysql: z
      .strictObject(
        {
          enabled: flag.default(false).describe('Accepts an otherwise empty mysql section, with every default.'),
          host: text.default('').describe('Host name or address of the MySQL server.'),
          port: integer(1, 65_535).default(3306).describe('Port of the MySQL server.'),
          user: text.default('').describe('User with SELECT, INSERT, UPDATE and DELETE on the database.'),
          password: text.default('').describe('Password. Prefer passwordFile, which keeps it out of this file.'),
          passwordFile: text
            .default('')
            .describe('File whose first line is the password. It may change: new connections use the new one.'),
          database: text.default('').describe('Database that holds the tables.'),
          maxOpenConns: integer(1, 1000).default(25).describe('Most connections open at once.'),
          maxIdleConns: integer(0, 1000).default(5).describe('Most connections kept open while idle.'),
          connMaxLifetime: duration.prefault('5m').describe('A connection older than this is replaced; 0 keeps it.'),
          connectTimeout: duration.prefault('10s').describe('Longest wait for a connection.'),
          readTimeout: duration.prefault('30s').describe('Longest wait for the answer to a statement.'),
          lockTimeout: duration
            .prefault('10s')
            .describe('Longest wait for locks of other transactions, in whole seconds.'),
          tlsMode: z
            .enum(['off', 'verify'], { error: 'expected off or verify' })
            .default('off')
            .describe(
              'verify: encrypts, and accepts only a certificate of a trusted authority for this host name. The manifests ' +
                'set it; off warns at the start unless the host is on loopback.',
            ),
          tlsCaFile: text
            .default('')
            .describe('PEM file with the authorities to trust for verify. Empty: those that Node trusts.'),
        },
        section,
      )
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
      })
      .prefault({}),
    encryption: z
      .strictObject(
        {
          keyFile: text
            .default('')
            .describe(
              'File with a key of 32 bytes (base64 or hexadecimal) that seals sensitive values. Empty: they are masked.',
            ),
          previousKeyFile: text
            .default('')
            .describe('File with the key before, one key a line: it opens what is not yet rotated.'),
        },
        section,
      )
      .refine(({ keyFile, previousKeyFile }) => previousKeyFile === '' || keyFile !== '', {
        path: ['previousKeyFile'],
        error: 'this has no effect unless encryption.keyFile is set',
      })
      .prefault({}),
    ingester: z
      .strictObject(
        {
          kinds: z
            .array(kindName, { error: 'expected a list of kinds' })
            .min(1, { error: 'expected at least one kind' })
            .default(defaultKinds.map((kind) => kind.kind))
            .describe('Kinds to ingest.'),
          concurrentReconciles: integer(1, 1000)
            .default(320)
            .describe('Objects of one kind reconciled at once. Those that wait for MySQL share transactions.'),
          concurrentReconcilesMap: perKind(integer(1, 1000)).default({}).describe('The same, for single kinds.'),
          requeuePeriod: duration.prefault('30s').describe('Longest wait before work that failed is tried again.'),
          requeuePeriodMap: perKind(duration).default({}).describe('The same, for single kinds.'),
          evictImmutableKinds: flag
            .default(false)
            .describe('Evicts every object of the immutable kinds (Model, CachedOutput), as the original does.'),
          deletionDelay: duration
            .prefault('0s')
            .describe(
              'How long a deleted object stays in etcd after MySQL has its final state. Not after an eviction.',
            ),
          deletionDelayMap: perKind(duration).default({}).describe('The same, for single kinds.'),
        },
        section,
      )
      .prefault({}),
    adoption: z
      .strictObject(
        {
          rate: integer(1, 10_000)
            .default(50)
            .describe('Objects a second, at most, that are given a finalizer they were created without.'),
        },
        section,
      )
      .prefault({}),
    audit: z
      .strictObject(
        {
          period: duration.prefault('1h').describe('How often MySQL is compared with the cluster. 0s: never.'),
          maxVanishedPercent: integer(0, 100)
            .default(10)
            .describe(
              'Rows of a table, in percent, that may be marked deleted because the cluster lacks their object.',
            ),
        },
        section,
      )
      .prefault({}),
    drain: z
      .strictObject(
        {
          namespace: text.default('ingester-system').describe('Namespace of the ConfigMap ingester-drain.'),
        },
        section,
      )
      .prefault({}),
    ...syncSections,
    kubernetes: z
      .strictObject(
        {
          kubeconfig: text
            .default('')
            .describe(
              'Path of a kubeconfig. Empty: KUBECONFIG, else the service account of the pod, else ~/.kube/config.',
            ),
          context: text.default('').describe('Context of the kubeconfig. Empty: its current context.'),
          qps: integer(0, 100_000)
            .default(0)
            .describe("Calls to the API server a second, at most. 0: no limit but the server's own fairness."),
          burst: integer(1, 100_000).default(100).describe('Calls that may be made at once under qps.'),
        },
        section,
      )
      .prefault({}),
    leaderElection: z
      .strictObject(
        {
          enabled: flag.default(false).describe('Lets one of several reconcilers work at a time. Needed for replicas.'),
          namespace: text.default('ingester-system').describe('Namespace of the lease.'),
          name: text.default('ingester-reconciler').describe('Name of the lease.'),
        },
        section,
      )
      .prefault({}),
    webhook: z
      .strictObject(
        {
          bindAddress: text.default('0.0.0.0:9443').describe('Address of the HTTPS server, host:port.'),
          certDir: text.default('/tls').describe('Folder with tls.crt and tls.key.'),
          clientCaFile: text
            .default('')
            .describe(
              'PEM file with the authority of the client certificate that the API server shows. Empty: callers show none.',
            ),
          clientName: text
            .default('')
            .describe('Common name of that certificate. Empty: any of the authority in webhook.clientCaFile.'),
          reconcilerUser: text
            .default('system:serviceaccount:ingester-system:ingester-reconciler')
            .describe('User of the reconciler, whose removal of the finalizer is never undone.'),
          reconcilerConfig: text
            .default('/etc/ingester/reconciler/config.yaml')
            .describe(
              'Configuration file of the reconciler. Where it switches metadata storage off, no new object gets the finalizer.',
            ),
          shutdownDelay: duration
            .prefault('5s')
            .describe('Time to go on serving after SIGTERM, until every node knows that this replica is going.'),
        },
        section,
      )
      .refine(({ clientCaFile, clientName }) => clientName === '' || clientCaFile !== '', {
        path: ['clientName'],
        error: 'this has no effect unless webhook.clientCaFile is set',
      })
      .prefault({}),
    admission: z
      .strictObject(
        {
          incomparableVersions: mode(['deny', 'warn'])
            .default('deny')
            .describe('An Ingester whose version has no order with the migrated one: deny or warn.'),
          contentDowngrades: perKind(mode(['deny', 'warn', 'off']))
            .default({})
            .describe(
              'Objects that go back to an older version: deny, warn or off, by kind; docs/kinds.md has the rest.',
            ),
          minimumApiVersion: text
            .refine((version) => version === '' || compareApiVersions(version, version) !== undefined, {
              error: 'expected an API version such as v2',
            })
            .default('')
            .describe('Oldest API version that objects may be written through. Empty: what they were written through.'),
          createMarked: mode(['deny', 'warn'])
            .default('deny')
            .describe('A new object that is already marked for deletion or eviction: deny or warn.'),
          archivedNames: mode(['deny', 'warn'])
            .default('deny')
            .describe('Creating an object under the name of an evicted one, while names are remembered: deny or warn.'),
          ownedDeletions: mode(['warn', 'deny'])
            .default('warn')
            .describe('Marking an object for deletion that Argo CD, Flux or Helm would create again: warn or deny.'),
          fieldRules: mode(['warn', 'deny', 'off'])
            .default('warn')
            .describe("Fields that the original's API server would refuse: warn, deny or off."),
        },
        section,
      )
      .prefault({}),
    query: z
      .strictObject(
        {
          bindAddress: text
            .default('0.0.0.0:6443')
            .describe('Address of the HTTPS server of the query API, host:port.'),
          certDir: text.default('/tls').describe('Folder with tls.crt and tls.key of the query API.'),
          requestTimeout: duration
            .prefault('60s')
            .describe('Longest wait for the first page of an answer, and for minResourceVersion.'),
          maxInFlight: integer(1, 10_000).default(64).describe('Requests that are answered at once; more get 429.'),
          answerTimeout: duration
            .prefault('10m')
            .describe('Longest time for a whole answer, however long the list is.'),
          userRequestsPerSecond: integer(0, 10_000)
            .default(50)
            .describe('Requests of one user that are answered in a second; more get 429. 0: no limit.'),
          userBurst: integer(1, 100_000).default(200).describe('Requests of one user at once after a rest.'),
          staleAfter: duration
            .prefault('3m')
            .describe('Answers carry a warning where the store was last known to be complete longer ago.'),
          templates: z
            .array(z.unknown(), { error: 'expected a list of query templates' })
            .default([])
            .describe('Named queries of your own; see [storage](storage.md#reading).'),
        },
        section,
      )
      .prefault({}),
    ...taskSections,
    health: z
      .strictObject(
        {
          bindAddress: text.default('0.0.0.0:8081').describe('Address of /healthz and /readyz, host:port, plain HTTP.'),
        },
        section,
      )
      .prefault({}),
    log: z
      .strictObject(
        {
          level: z
            .enum(['debug', 'info', 'warn', 'error'], { error: 'expected debug, info, warn or error' })
            .default('info')
            .describe('Least severe level that is logged.'),
        },
        section,
      )
      .prefault({}),
  },
  section,
);

/** The validated configuration. Durations are milliseconds. */
export interface Configuration extends SyncSettings, TaskSettings {
  readonly metadataStorage: { readonly enableMetadataStorage: boolean; readonly tableNames: TableNames };
  readonly mysql: {
    readonly enabled: boolean;
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly passwordFile: string;
    readonly database: string;
    readonly maxOpenConns: number;
    readonly maxIdleConns: number;
    readonly connMaxLifetime: number;
    readonly connectTimeout: number;
    readonly readTimeout: number;
    readonly lockTimeout: number;
    readonly tlsMode: 'off' | 'verify';
    readonly tlsCaFile: string;
  };
  readonly encryption: { readonly keyFile: string; readonly previousKeyFile: string };
  readonly ingester: {
    readonly kinds: readonly string[];
    readonly concurrentReconciles: number;
    readonly concurrentReconcilesMap: Readonly<Record<string, number>>;
    readonly requeuePeriod: number;
    readonly requeuePeriodMap: Readonly<Record<string, number>>;
    readonly evictImmutableKinds: boolean;
    readonly deletionDelay: number;
    readonly deletionDelayMap: Readonly<Record<string, number>>;
  };
  readonly adoption: { readonly rate: number };
  readonly audit: { readonly period: number; readonly maxVanishedPercent: number };
  readonly drain: { readonly namespace: string };
  readonly kubernetes: {
    readonly kubeconfig: string;
    readonly context: string;
    readonly qps: number;
    readonly burst: number;
  };
  readonly leaderElection: { readonly enabled: boolean; readonly namespace: string; readonly name: string };
  readonly webhook: {
    readonly bindAddress: string;
    readonly certDir: string;
    readonly clientCaFile: string;
    readonly clientName: string;
    readonly reconcilerUser: string;
    readonly reconcilerConfig: string;
    readonly shutdownDelay: number;
  };
  readonly admission: {
    readonly incomparableVersions: 'warn' | 'deny';
    readonly contentDowngrades: Readonly<Record<string, DowngradeMode>>;
    readonly minimumApiVersion: string;
    readonly createMarked: 'deny' | 'warn';
    readonly archivedNames: 'deny' | 'warn';
    readonly ownedDeletions: 'deny' | 'warn';
    readonly fieldRules: 'warn' | 'deny' | 'off';
  };
  readonly query: {
    readonly bindAddress: string;
    readonly certDir: string;
    readonly requestTimeout: number;
    readonly maxInFlight: number;
    readonly answerTimeout: number;
    readonly userRequestsPerSecond: number;
    readonly userBurst: number;
    readonly staleAfter: number;
    /** Checked where they are loaded: src/app/query-templates.ts. */
    readonly templates: readonly unknown[];
  };
  readonly health: { readonly bindAddress: string };
  readonly log: { readonly level: LogLevel };
}

export interface SchemaIssue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
  readonly issues?: readonly SchemaIssue[];
}

export type SchemaResult =
  | { readonly success: true; readonly data: Configuration }
  | { readonly success: false; readonly issues: readonly SchemaIssue[] };

export function checkConfiguration(value: unknown): SchemaResult {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed : { success: false, issues: parsed.error.issues };
}

/** The sections of the schema, for the list of keys. */
export function schemaSections(): Readonly<Record<string, z.core.$ZodType>> {
  return schema.shape;
}
