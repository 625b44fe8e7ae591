// What an object names, and what names it: by its owner references, and by the fields that hold a namespace and a name.
import { hashOf } from './address.ts';
import type { KindSummary, StoredDocument } from './documents.ts';

export interface Relation {
  /** The field, or `owner`. */
  readonly by: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  /** Undefined where the kind is not one that the user may list. */
  readonly plural: string | undefined;
}

const MAX_RELATIONS = 12;
const MAX_DEPTH = 8;

type Kinds = readonly Pick<KindSummary, 'kind' | 'plural' | 'fields'>[];

/** The kind whose name the field ends with: `sourcePipelineRun` is of PipelineRun, not of a Pipeline. */
function kindOfField(field: string, kinds: Kinds): Kinds[number] | undefined {
  const ends = kinds.filter(({ kind }) => field.toLowerCase().endsWith(kind.toLowerCase()));
  return ends.toSorted((left, right) => right.kind.length - left.kind.length)[0];
}

/** Twelve at most. */
export function namedBy({ metadata, spec, status }: StoredDocument, kinds: Kinds): readonly Relation[] {
  const owners = (metadata.ownerReferences ?? []).map(({ kind, name }) => ({
    ...{ by: 'owner', kind, name, namespace: metadata.namespace },
    plural: kinds.find((one) => one.kind === kind)?.plural,
  }));
  const fields = [...identifiers(spec, 'spec', 0), ...identifiers(status, 'status', 0)].map(
    ({ by, name, namespace }) => {
      const field = by.split('.').at(-1) ?? by;
      const found = kindOfField(field, kinds);
      return { by, kind: found?.kind ?? field, name, namespace, plural: found?.plural };
    },
  );
  const key = ({ kind, namespace, name }: Relation): string => JSON.stringify([kind, namespace, name]);
  return [...new Map([...fields, ...owners].map((one) => [key(one), one])).values()].slice(0, MAX_RELATIONS);
}

interface Identifier {
  readonly by: string;
  readonly name: string;
  readonly namespace: string;
}

function identifiers(value: unknown, by: string, depth: number): readonly Identifier[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth > MAX_DEPTH) return [];
  const { name, namespace } = value as Readonly<Record<string, unknown>>;
  if (typeof name === 'string' && typeof namespace === 'string' && name !== '') return [{ by, name, namespace }];
  return Object.entries(value).flatMap(([key, nested]) => identifiers(nested, `${by}.${key}`, depth + 1));
}

export interface Referrers {
  readonly kind: string;
  readonly plural: string;
  /** What lists them. */
  readonly query: URLSearchParams;
  readonly hash: string;
}

/** Lists of the objects whose indexed fields name this one. */
export function referrersOf({ kind, metadata }: StoredDocument, kinds: Kinds): readonly Referrers[] {
  const { namespace, name } = metadata;
  return kinds
    .flatMap((other) => referencesTo(kind, other, kinds).map((path) => ({ other, path })))
    .slice(0, MAX_RELATIONS)
    .map(({ other, path }) => {
      const fieldSelector = `${path}.namespace=${namespace},${path}.name=${name}`;
      const query = new URLSearchParams({ fieldSelector, source: 'all' });
      return { kind: other.kind, plural: other.plural, query, hash: hashOf([other.plural], query) };
    });
}

function referencesTo(kind: string, { fields }: Kinds[number], kinds: Kinds): readonly string[] {
  return fields
    .filter((field) => field.endsWith('.namespace') && !field.startsWith('metadata.'))
    .map((field) => field.slice(0, -'.namespace'.length))
    .filter((path) => kindOfField(path.split('.').at(-1) ?? '', kinds)?.kind === kind);
}
