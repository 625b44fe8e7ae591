// What an Ingester may ask for. A user who may write one could otherwise run any image and any command with any Secret of
// the namespace, and send credentials anywhere. A ConfigMap in the same namespace, which that user needs no right to
// change, says what is permitted; without it the safe defaults below are. The lifecycle controller and admission share
// this table.
import { isJsonObject, valueAt } from '../../base/json.ts';
import { leaves } from './schema.ts';
import { componentNames, taskNames } from './spec.ts';
import { secretName } from './spec-fields.ts';
import { specSchema } from './spec-schema.ts';

export const PERMITTED_CONFIG_MAP = 'ingester-permitted';

/** A pattern with `*` at its end permits every value with that prefix. A key of the ConfigMap replaces its row. */
export const initiallyPermitted = {
  secrets: ['ingester-*'],
  /** The repository that the lifecycle controller itself runs from. */
  images: [],
  hosts: [],
  commands: [],
  volumes: ['emptyDir', 'secret'],
  env: ['TZ', 'MALLOC_*', 'UV_THREADPOOL_SIZE'],
  annotations: [
    'cluster-autoscaler.kubernetes.io/*',
    'prometheus.io/*',
    'cert-manager.io/*',
    'external-dns.alpha.kubernetes.io/*',
    'nginx.ingress.kubernetes.io/backend-protocol',
  ],
  /** Services and policies of other teams select by labels, and some labels give a pod an identity. */
  labels: [],
  /** A higher one puts other pods off their nodes. */
  priorityClasses: [],
  /** Keys of taints; others keep pods off nodes for a reason. */
  tolerations: ['node.kubernetes.io/*'],
} as const;

export type What = keyof typeof initiallyPermitted;
export type Permitted = Readonly<Record<What, readonly string[]>>;

/** `repository` is undefined where it is not known what the lifecycle controller was started from. */
export function permittedBy(data: unknown, repository: string | undefined): Permitted {
  const usual = { ...initiallyPermitted, images: repository === undefined ? [] : [repository] };
  const rows = Object.entries(usual).map(([what, patterns]) => {
    const own: unknown = valueAt(data, [what]);
    return [what, typeof own === 'string' ? own.split(/\s+/).filter((pattern) => pattern !== '') : patterns];
  });
  return Object.fromEntries(rows) as Permitted;
}

/** Without tag and digest. */
export function repositoryOf(image: string): string {
  const [name = ''] = image.split('@');
  const tag = name.indexOf(':', name.lastIndexOf('/') + 1);
  return tag === -1 ? name : name.slice(0, tag);
}

/** One thing that a specification asks for. */
export interface Claim {
  readonly what: What;
  readonly path: string;
  readonly value: string;
}

type Form = 'text' | 'texts' | 'words' | 'image' | 'keys' | 'volumes' | 'env' | 'taints';

export interface Source {
  readonly what: What;
  /** Below the specification. */
  readonly path: readonly string[];
  readonly form: Form;
}

const podTemplates: readonly (readonly string[])[] = [
  ['podTemplate'],
  ['lifecycle', 'podTemplate'],
  ...componentNames.map((name) => ['components', name, 'podTemplate']),
];

/** Fields with names of Secrets are found by their schema: one that is added is bounded, too. */
const secretFields: readonly Source[] = leaves(specSchema).flatMap(({ path, leaf: { schema } }): readonly Source[] => {
  const at = { what: 'secrets', path: path.split('.') } as const;
  if (schema === secretName) return [{ ...at, form: 'text' }];
  return schema['items'] === secretName ? [{ ...at, form: 'texts' }] : [];
});

const podFields = [
  { what: 'volumes', field: 'volumes', form: 'volumes' },
  { what: 'env', field: 'env', form: 'env' },
  { what: 'annotations', field: 'annotations', form: 'keys' },
  { what: 'labels', field: 'labels', form: 'keys' },
  { what: 'priorityClasses', field: 'priorityClassName', form: 'text' },
  { what: 'tolerations', field: 'tolerations', form: 'taints' },
] as const;

export const sources: readonly Source[] = [
  ...secretFields,
  { what: 'images', path: ['image'], form: 'image' },
  // The named host gets the credentials; unless it is set here, the Secret names it.
  { what: 'hosts', path: ['database', 'host'], form: 'text' },
  ...taskNames.map((task) => {
    return { what: 'commands', path: ['lifecycle', task, 'command'], form: 'words' } as const;
  }),
  ...podTemplates.flatMap((pod) => podFields.map(({ field, ...source }) => ({ ...source, path: [...pod, field] }))),
  // Ingress controllers take annotations as configuration, some as code.
  { what: 'annotations', path: ['networking', 'ingress', 'annotations'], form: 'keys' },
];

/** Repository of the default image. */
export const OWN_REPOSITORY = 'michelangelo-ingester';

/** Everything in a specification that has to be permitted; a value of the wrong type is a claim, too. */
export function claimsOf(spec: unknown): readonly Claim[] {
  return sources.flatMap(({ what, path, form }) => {
    const value = valueAt(spec, path);
    if ((value ?? undefined) === undefined && form !== 'image') return [];
    return readers[form](what, `spec.${path.join('.')}`, value);
  });
}

type Reader = (what: What, path: string, value: unknown) => readonly Claim[];

const readers: Readonly<Record<Form, Reader>> = {
  text: (what, path, value) => [claim(what, path, value)],
  texts: (what, path, value) => listOf(value).map((each) => claim(what, path, each)),
  words: (what, path, value) => [claim(what, path, Array.isArray(value) ? value.join(' ') : value)],
  image: (what, path, value) => [
    claim(what, path, typeof value === 'string' ? repositoryOf(value) : (value ?? OWN_REPOSITORY)),
  ],
  keys: (what, path, value) =>
    (isJsonObject(value) ? Object.keys(value) : [value]).map((key) => claim(what, path, key)),
  volumes: (what, path, value) => listOf(value).flatMap((volume, index) => ofVolume(what, `${path}[${index}]`, volume)),
  env: (what, path, value) =>
    listOf(value).flatMap((variable, index) => ofVariable(what, `${path}[${index}]`, variable)),
  taints: (what, path, value) =>
    listOf(value).map((toleration, index) => {
      const key: unknown = valueAt(toleration, ['key']);
      return claim(what, `${path}[${index}]`, (key ?? '') === '' ? EVERY_TAINT : key);
    }),
};

/** Value of the claim for a toleration without a key. */
export const EVERY_TAINT = 'every taint';

/** A value that is no list counts as one entry, which no pattern permits. */
function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function ofVolume(what: What, path: string, volume: unknown): readonly Claim[] {
  if (!isJsonObject(volume)) return [claim(what, path, volume)];
  const kinds = Object.keys(volume).filter((key) => key !== 'name');
  const secret = valueAt(volume, ['secret', 'secretName']);
  return [
    ...kinds.map((kind) => claim(what, path, kind)),
    ...(kinds.includes('secret') ? [claim('secrets', `${path}.secret.secretName`, secret)] : []),
  ];
}

/** Flags of the engine that only say how much memory it takes; others load programs. */
export const SIZES = '^(--max-(semi|old)-space-size=[0-9]+( +|$))+$';
const sizes = new RegExp(SIZES);

function ofVariable(what: What, path: string, variable: unknown): readonly Claim[] {
  const [name, value] = [valueAt(variable, ['name']), valueAt(variable, ['value'])];
  const isSize = name === 'NODE_OPTIONS' && typeof value === 'string' && sizes.test(value);
  const secret = valueAt(variable, ['valueFrom', 'secretKeyRef', 'name']);
  return [
    ...(isSize ? [] : [claim(what, path, name)]),
    ...(secret === undefined ? [] : [claim('secrets', `${path}.valueFrom.secretKeyRef.name`, secret)]),
  ];
}

/** A value that is no string is permitted by no pattern. */
function claim(what: What, path: string, value: unknown): Claim {
  return { what, path, value: typeof value === 'string' ? value : `no text: ${JSON.stringify(value)}` };
}

export function isPermitted({ what, value }: Pick<Claim, 'what' | 'value'>, permitted: Permitted): boolean {
  return permitted[what].some((pattern) =>
    pattern.endsWith('*') ? value.startsWith(pattern.slice(0, -1)) : value === pattern,
  );
}

/** Those claims that are not permitted. */
export function forbiddenClaims(spec: unknown, permitted: Permitted): readonly Claim[] {
  return claimsOf(spec).filter((each) => !isPermitted(each, permitted));
}
