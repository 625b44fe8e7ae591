// The files that a volume has, from Secrets, ConfigMaps, the downward API and tokens.
import { CodedError } from '../../../src/base/errors.ts';
import { fieldValue, type PodAddresses, resourceValue } from './field-values.ts';
import type { Texts } from './object-reader.ts';
import type { DownwardSource, KeyToPath, Pod, ProjectedSource, TokenSource, Volume } from './pod.ts';

export interface VolumeFile {
  readonly data: Buffer;
  readonly mode: number;
}

/** By path below the volume. */
export type VolumeFiles = ReadonlyMap<string, VolumeFile>;

export interface VolumeInput {
  readonly pod: Pod;
  readonly addresses: PodAddresses;
  readonly capacity: Readonly<Record<string, string>>;
  texts(kind: 'secret' | 'configMap', name: string): Promise<Texts | undefined>;
  token(source: TokenSource): Promise<string>;
}

/** Why a volume is not there (yet). */
export class VolumeError extends CodedError {
  constructor(message: string) {
    super('LOCAL_VOLUME', message, { retry: 'yes' });
  }
}

const usualMode = 0o644;
const tokenMode = 0o600;

/** Undefined for volumes that are folders of their own and not made of files. */
export async function filesOf(volume: Volume, input: VolumeInput): Promise<VolumeFiles | undefined> {
  const { secret, configMap, downwardAPI, projected } = volume;
  if (volume.emptyDir !== undefined || volume.hostPath !== undefined) return undefined;
  if (secret !== undefined) return merged([{ secret }], secret.defaultMode, input);
  if (configMap !== undefined) return merged([{ configMap }], configMap.defaultMode, input);
  if (downwardAPI !== undefined) return merged([{ downwardAPI }], downwardAPI.defaultMode, input);
  if (projected !== undefined) return merged(projected.sources, projected.defaultMode, input);
  throw new VolumeError(`volume "${volume.name}" is of a type that the process node does not have`);
}

async function merged(
  sources: readonly ProjectedSource[],
  mode: number | undefined,
  input: VolumeInput,
): Promise<VolumeFiles> {
  const files = new Map<string, VolumeFile>();
  for (const source of sources) {
    for (const [path, file] of await filesOfSource(source, mode ?? usualMode, input)) files.set(path, file);
  }
  return files;
}

async function filesOfSource(source: ProjectedSource, mode: number, input: VolumeInput): Promise<VolumeFiles> {
  const { secret, configMap, downwardAPI, serviceAccountToken } = source;
  if (secret !== undefined) {
    const name = secret.secretName ?? secret.name ?? '';
    return chosen(await input.texts('secret', name), { ...secret, what: `secret "${name}"` }, mode);
  }
  if (configMap !== undefined) {
    const texts = await input.texts('configMap', configMap.name);
    return chosen(texts, { ...configMap, what: `configmap "${configMap.name}"` }, mode);
  }
  if (downwardAPI !== undefined) return downward(downwardAPI, mode, input);
  if (serviceAccountToken !== undefined) {
    const data = Buffer.from(await input.token(serviceAccountToken));
    return new Map([[serviceAccountToken.path, { data, mode: tokenMode }]]);
  }
  throw new VolumeError('a projected source is of a type that the process node does not have');
}

interface Choice {
  readonly what: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

function chosen(texts: Texts | undefined, { what, items, optional = false }: Choice, mode: number): VolumeFiles {
  if (texts === undefined && !optional) throw new VolumeError(`${what} not found`);
  const all = texts ?? new Map<string, Buffer>();
  const wanted = items ?? [...all.keys()].map((key): KeyToPath => ({ key, path: key }));
  const files = new Map<string, VolumeFile>();
  for (const item of wanted) {
    const data = all.get(item.key);
    if (data !== undefined) files.set(item.path, { data, mode: item.mode ?? mode });
    else if (!optional) throw new VolumeError(`${what} has no key ${item.key}`);
  }
  return files;
}

function downward({ items = [] }: DownwardSource, mode: number, input: VolumeInput): VolumeFiles {
  const { pod, addresses, capacity } = input;
  const files = new Map<string, VolumeFile>();
  for (const item of items) {
    const of = pod.spec.containers.find(({ name }) => name === item.resourceFieldRef?.containerName);
    const value =
      item.fieldRef !== undefined
        ? fieldValue(pod, addresses, item.fieldRef)
        : of && item.resourceFieldRef && resourceValue(of, item.resourceFieldRef, capacity);
    if (value === undefined) throw new VolumeError(`the process node does not know what belongs into ${item.path}`);
    files.set(item.path, { data: Buffer.from(value), mode: item.mode ?? mode });
  }
  return files;
}
