// Pods of components and tasks: what the program needs, with what an Ingester resource adds to it.
import {
  type DatabaseSpec,
  INGESTER_GROUP,
  type IngesterSpec,
  type PodSpec,
  type SecretKey,
} from '../../api/ingester/spec.ts';
import { BUNDLE_LABEL, GROUP } from '../../api/names.ts';
import type { JsonObject } from '../../base/json.ts';
import { imageOf } from '../plan/settings.ts';

export interface PodInput {
  /** What says which image. */
  readonly spec: Pick<IngesterSpec, 'version' | 'image' | 'imagePullPolicy' | 'imagePullSecrets'>;
  /** Laid over each other, later ones winning. */
  readonly layers: readonly (PodSpec | undefined)[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly containerName: string;
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly ports?: readonly object[];
  readonly probes?: object;
  readonly env: readonly JsonObject[];
  readonly volumes: readonly JsonObject[];
  readonly mounts: readonly JsonObject[];
  readonly resources: object;
  readonly serviceAccount: string | undefined;
  readonly graceSeconds: number;
  readonly restartPolicy: 'Always' | 'Never';
}

const RESERVED_PREFIXES = ['michelangelo/', `${GROUP}/`, `${INGESTER_GROUP}/`, `${BUNDLE_LABEL.split('/')[0] ?? ''}/`];

/** A pod template. What the lifecycle sets itself wins over every layer. */
export function podTemplate(input: PodInput): JsonObject {
  const layer = mergePods(input.layers);
  const { spec, serviceAccount } = input;
  const { nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName } = layer;
  return asJson({
    metadata: {
      labels: { ...withoutReserved(layer.labels), ...input.labels },
      annotations: { ...withoutReserved(layer.annotations), ...input.annotations },
    },
    spec: {
      ...(serviceAccount === undefined
        ? { automountServiceAccountToken: false }
        : { serviceAccountName: serviceAccount }),
      terminationGracePeriodSeconds: input.graceSeconds,
      restartPolicy: input.restartPolicy,
      // The user is the image's: OpenShift assigns one to each namespace, and refuses a pod that names another.
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      imagePullSecrets: spec.imagePullSecrets?.map((name) => ({ name })),
      nodeSelector: { 'kubernetes.io/os': 'linux', ...nodeSelector },
      tolerations,
      affinity,
      topologySpreadConstraints,
      priorityClassName,
      containers: [container(input, layer)],
      volumes: mergeBy('name', layer.volumes ?? [], input.volumes),
    },
  });
}

function container(input: PodInput, layer: PodSpec): object {
  const { spec, containerName, args, command, ports, probes, env, mounts, resources } = input;
  return {
    name: containerName,
    image: imageOf(spec),
    imagePullPolicy: spec.imagePullPolicy,
    command,
    args,
    env: mergeBy('name', layer.env ?? [], env),
    ports,
    ...probes,
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    resources: layer.resources ?? resources,
    volumeMounts: mergeBy('mountPath', layer.volumeMounts ?? [], mounts),
  };
}

/** Texts replace, maps merge by key, lists with names merge by name, tolerations and spread constraints add up. */
export function mergePods(layers: readonly (PodSpec | undefined)[]): PodSpec {
  return layers.reduce<PodSpec>((below, layer) => {
    if (layer === undefined) return below;
    return {
      ...below,
      ...layer,
      labels: { ...below.labels, ...layer.labels },
      annotations: { ...below.annotations, ...layer.annotations },
      nodeSelector: { ...below.nodeSelector, ...layer.nodeSelector },
      env: mergeBy('name', below.env ?? [], layer.env ?? []),
      tolerations: [...(below.tolerations ?? []), ...(layer.tolerations ?? [])],
      topologySpreadConstraints: [
        ...(below.topologySpreadConstraints ?? []),
        ...(layer.topologySpreadConstraints ?? []),
      ],
      volumes: mergeBy('name', below.volumes ?? [], layer.volumes ?? []),
      volumeMounts: mergeBy('mountPath', below.volumeMounts ?? [], layer.volumeMounts ?? []),
    };
  }, {});
}

function mergeBy(key: string, below: readonly JsonObject[], above: readonly JsonObject[]): readonly JsonObject[] {
  const merged = new Map(below.map((item) => [item[key], item]));
  for (const item of above) merged.set(item[key], item);
  return [...merged.values()];
}

function withoutReserved(texts: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const free = Object.entries(texts).filter(([key]) => !RESERVED_PREFIXES.some((prefix) => key.startsWith(prefix)));
  return Object.fromEntries(free);
}

/** Without what is undefined: applied fields would be taken for wanted. */
export function asJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

/** Where the database is and who logs in, by reference: this program never reads a Secret. */
export function databaseEnv(database: DatabaseSpec, secret: string): readonly JsonObject[] {
  const { host, port, name } = database;
  const value = (variable: string, given: string | number | undefined, key: string): JsonObject =>
    given === undefined ? fromSecret(variable, secret, key) : { name: variable, value: String(given) };
  return [
    value('INGESTER_MYSQL_HOST', host, 'host'),
    value('INGESTER_MYSQL_PORT', port, 'port'),
    value('INGESTER_MYSQL_DATABASE', name, 'database'),
    fromSecret('INGESTER_MYSQL_USER', secret, 'user'),
  ];
}

export function fromSecret(variable: string, secret: string, key: string): JsonObject {
  return { name: variable, valueFrom: { secretKeyRef: { name: secret, key } } };
}

/** A volume with one key of a Secret as a file. */
export function secretFile(volume: string, secret: string, key: string, path: string = key): JsonObject {
  return { name: volume, secret: { secretName: secret, items: [{ key, path }] } };
}

export function readOnly(volume: string, mountPath: string): JsonObject {
  return { name: volume, mountPath, readOnly: true };
}

export const configFile = '/etc/ingester/config/config.yaml';
export const mysqlFiles = '/etc/ingester/mysql';
const keyFiles = '/etc/ingester/keys';

export interface Files {
  readonly volumes: readonly JsonObject[];
  readonly mounts: readonly JsonObject[];
}

export function databaseFiles({ tls, encryption }: DatabaseSpec, secret: string): Files {
  const keys: readonly (readonly [string, SecretKey | undefined])[] = [
    ['key', encryption?.key],
    ['previous-key', encryption?.previousKey],
    ['ca', tls?.caSecret],
  ];
  const given = keys.flatMap(([file, key]) => (key === undefined ? [] : [{ file, key }]));
  const sources = given.map(({ file, key }) => ({ secret: { name: key.name, items: [{ key: key.key, path: file }] } }));
  const mysql = secretFile('mysql', secret, 'password');
  return {
    volumes: [mysql, ...(given.length === 0 ? [] : [{ name: 'keys', projected: { sources } }])],
    mounts: [readOnly('mysql', mysqlFiles), ...(given.length === 0 ? [] : [readOnly('keys', keyFiles)])],
  };
}

/** The sections of the configuration file that say how to reach the database. */
export function databaseSections({ tls, encryption }: DatabaseSpec): JsonObject {
  const ca = tls?.caSecret === undefined ? {} : { tlsCaFile: `${keyFiles}/ca` };
  const previous = encryption?.previousKey === undefined ? {} : { previousKeyFile: `${keyFiles}/previous-key` };
  return {
    mysql: { passwordFile: `${mysqlFiles}/password`, ...(tls === undefined ? {} : { tlsMode: 'verify', ...ca }) },
    ...(encryption === undefined ? {} : { encryption: { keyFile: `${keyFiles}/key`, ...previous } }),
  };
}
