// Every configuration key, its type, default and help. docs/configuration.md is generated from this file.
import { z } from 'zod';
import { allKinds, defaultKinds, findKind } from '../api/kinds.ts';
import { parseDurationMs } from '../base/duration.ts';
import type { LogLevel } from '../base/logger.ts';

const kindNames = allKinds.map((kind) => kind.kind).join(', ');

/** Environment variables and YAML quote freely, so scalars are accepted as text too. */
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], {
  error: 'expected true or false',
});

function integer(minimum: number, maximum: number): z.ZodType<number> {
  const message = `expected a whole number from ${minimum} to ${maximum}`;
  return z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], { error: message })
    .refine((value) => Number.isInteger(value) && value >= minimum && value <= maximum, { error: message });
}

const text = z.string({ error: 'expected text' });

const duration = z
  .string({ error: 'expected a duration such as 500ms, 30s or 5m' })
  .transform((value) => parseDurationMs(value))
  .refine((value): value is number => value !== undefined, { error: 'expected a duration such as 500ms, 30s or 5m' });

const kindName = text.refine((name) => findKind(name) !== undefined, {
  error: (issue) => `unknown kind "${String(issue.input)}"; known kinds: ${kindNames}`,
});

function perKind<T extends z.ZodType>(value: T): z.ZodType<Readonly<Record<string, z.output<T>>>> {
  return z.record(kindName, value, { error: 'expected a map from kind to value' });
}

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
            .describe('Copies objects into MySQL. While it is off the reconciler stays idle.'),
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
          passwordFile: text.default('').describe('File whose first line is the password.'),
          database: text.default('').describe('Database that holds the tables.'),
          maxOpenConns: integer(1, 1000).default(25).describe('Most connections open at once.'),
          maxIdleConns: integer(0, 1000).default(5).describe('Most connections kept open while idle.'),
          connMaxLifetime: duration.prefault('5m').describe('A connection older than this is replaced; 0 keeps it.'),
          tlsMode: z
            .enum(['off', 'verify'], { error: 'expected off or verify' })
            .default('off')
            .describe('verify: encrypts, and accepts only a certificate of a trusted authority for this host name.'),
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
      .refine((mysql) => mysql.password === '' || mysql.passwordFile === '', {
        path: ['passwordFile'],
        error: 'set either password or passwordFile, not both',
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
          concurrentReconciles: integer(1, 1000).default(1).describe('Objects of one kind reconciled at once.'),
          concurrentReconcilesMap: perKind(integer(1, 1000)).default({}).describe('The same, for single kinds.'),
          requeuePeriod: duration.prefault('30s').describe('Longest wait before work that failed is tried again.'),
          requeuePeriodMap: perKind(duration).default({}).describe('The same, for single kinds.'),
          evictImmutableKinds: flag
            .default(false)
            .describe('Evicts every object of the immutable kinds (Model, CachedOutput), as the original does.'),
        },
        section,
      )
      .prefault({}),
    kubernetes: z
      .strictObject(
        {
          kubeconfig: text
            .default('')
            .describe('Path of a kubeconfig. Empty: KUBECONFIG, else the service account of the pod.'),
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
          reconcilerUser: text
            .default('system:serviceaccount:ingester-system:ingester-reconciler')
            .describe('User of the reconciler, whose removal of the finalizer is never undone.'),
        },
        section,
      )
      .prefault({}),
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
export interface Configuration {
  readonly metadataStorage: { readonly enableMetadataStorage: boolean };
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
    readonly tlsMode: 'off' | 'verify';
    readonly tlsCaFile: string;
  };
  readonly ingester: {
    readonly kinds: readonly string[];
    readonly concurrentReconciles: number;
    readonly concurrentReconcilesMap: Readonly<Record<string, number>>;
    readonly requeuePeriod: number;
    readonly requeuePeriodMap: Readonly<Record<string, number>>;
    readonly evictImmutableKinds: boolean;
  };
  readonly kubernetes: {
    readonly kubeconfig: string;
    readonly context: string;
    readonly qps: number;
    readonly burst: number;
  };
  readonly leaderElection: { readonly enabled: boolean; readonly namespace: string; readonly name: string };
  readonly webhook: { readonly bindAddress: string; readonly certDir: string; readonly reconcilerUser: string };
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
