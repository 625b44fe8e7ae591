// The tombstone index: the names under which objects left the cluster, as one ConfigMap holds them, so that admission can
// know a name without asking a database. Pure.
//
// Each entry is one line, `<digest> <uid> <end>[ <versions>]`, in the entry of the ConfigMap that the digest begins with.
// The newest stand last. What does not fit any more is forgotten: of names that were merely deleted first.
import { hash } from 'node:crypto';
import type { KindDefinition, VersionField } from '../api/kind.ts';
import { isJsonObject, type JsonValue, valueAt } from '../base/json.ts';
import type { ObjectName } from './tombstone.ts';

export const TOMBSTONES_CONFIG_MAP = 'ingester-tombstones';

export interface TombstoneEntry {
  /** Of the object that had the name last. */
  readonly uid: string;
  readonly end: 'evicted' | 'deleted';
  /** Its version fields, in the order of `comparedFields`; null for what it did not have. */
  readonly versions: readonly JsonValue[];
}

/** `data` of the ConfigMap. */
export type TombstoneData = Readonly<Record<string, string>>;

/** 66 bits of the digest: a million names meet by chance once in a hundred million times. */
const DIGEST_LENGTH = 11;
/** An object of the API server is at most 1.5 MiB in etcd, its ConfigMap 1 MiB; 64 entries of this size are 896 KiB. */
const MOST_CHARACTERS = 14_336;
/** A version is short; what is not is not worth its place. */
const LONGEST_VERSION = 64;

/** Version fields that a manifest can bring back. */
export function comparedFields(kind: KindDefinition): readonly VersionField[] {
  return kind.versionFields.filter(({ path }) => path[0] === 'spec');
}

export function versionsOf(kind: KindDefinition, object: object): readonly JsonValue[] {
  return comparedFields(kind).map(({ path }) => {
    const value = valueAt(object, path);
    if (typeof value === 'string') return value.length <= LONGEST_VERSION ? value : null;
    return typeof value === 'number' || typeof value === 'boolean' ? value : null;
  });
}

export function findTombstone(data: TombstoneData, name: ObjectName): TombstoneEntry | undefined {
  const digest = digestOf(name);
  const line = linesOf(data, keyOf(digest)).find((each) => each.startsWith(`${digest} `));
  if (line === undefined) return undefined;
  const [, uid = '', end, ...versions] = line.split(' ');
  return { uid, end: end === 'evicted' ? end : 'deleted', versions: parsedVersions(versions.join(' ')) };
}

/**
 * The entries of the ConfigMap that change. A name that was deleted without any version is forgotten: any client may
 * use it again.
 */
export function addTombstones(
  data: TombstoneData,
  names: readonly (ObjectName & { readonly entry: TombstoneEntry })[],
): TombstoneData {
  const byKey = Map.groupBy(names, (each) => keyOf(digestOf(each)));
  const changed = [...byKey].flatMap(([key, together]) => {
    const before = linesOf(data, key);
    const digests = new Map(together.map((each) => [digestOf(each), each.entry]));
    const others = before.filter((line) => !digests.has(line.slice(0, DIGEST_LENGTH)));
    const added = [...digests].flatMap(([digest, entry]) => lineOf(digest, entry));
    const same = added.every((line) => before.includes(line)) && others.length + added.length === before.length;
    return same ? [] : [[key, fitting([...others, ...added]).join('\n')] as const];
  });
  return Object.fromEntries(changed);
}

function digestOf({ kind, namespace, name }: ObjectName): string {
  return hash('sha256', `${kind}/${namespace}/${name}`, 'base64url').slice(0, DIGEST_LENGTH);
}

function keyOf(digest: string): string {
  return `names.${digest.slice(0, 1)}`;
}

function linesOf(data: TombstoneData, key: string): readonly string[] {
  const text = data[key] ?? '';
  return text === '' ? [] : text.split('\n');
}

function lineOf(digest: string, { uid, end, versions }: TombstoneEntry): readonly string[] {
  const known = versions.some((version) => version !== null);
  if (end === 'deleted' && !known) return [];
  return [`${digest} ${uid} ${end}${known ? ` ${JSON.stringify(versions)}` : ''}`];
}

function parsedVersions(text: string): readonly JsonValue[] {
  if (text === '') return [];
  try {
    const versions: unknown = JSON.parse(`{"versions":${text}}`);
    const list = isJsonObject(versions) ? versions['versions'] : undefined;
    return Array.isArray(list) ? list : [];
  } catch {
    // The ConfigMap was edited by hand; an entry that cannot be read counts as missing.
    return [];
  }
}

function fitting(lines: readonly string[]): readonly string[] {
  let excess = lines.reduce((sum, line) => sum + line.length + 1, 0) - MOST_CHARACTERS;
  if (excess <= 0) return lines;
  const dropped = new Set<string>();
  const isEvicted = (line: string): boolean => line.split(' ')[2] === 'evicted';
  for (const line of [...lines.filter((each) => !isEvicted(each)), ...lines.filter(isEvicted)]) {
    if (excess <= 0) break;
    dropped.add(line);
    excess -= line.length + 1;
  }
  return lines.filter((line) => !dropped.has(line));
}
