// What a path asks for.
//
//   /apis/stored.michelangelo.api/v2/models                            every namespace
//   /apis/stored.michelangelo.api/v2/namespaces/ml/models              one namespace
//   .../models/-/search                                                the same, asked for in a body (POST)
//   .../models/-/aggregate                                             counts and figures in groups
//   .../models/-/queries                                               the named queries of the kind
//   .../models/-/changes                                               the change feed; "-" is no object's name
//   /apis/stored.michelangelo.api/v2/namespaces/ml/models/m1           one object
//   .../models/m1/incarnations                                         all objects that ever had the name
//   .../models/m1/events                                               what Kubernetes events say of it
//   .../models/m1/restore                                              back into the cluster (POST)
//   /apis/stored.michelangelo.api/v2/summary                           every kind with its counts
//   /apis/stored.michelangelo.api/v2/stuck                             what the reconciler cannot deal with
//   /apis/stored.michelangelo.api/v2/-/clusters                        the clusters that can be asked for; "-" is no kind's plural
import type { KindDefinition } from '../api/kind.ts';
import { VERSION } from '../api/names.ts';
import { QueryError } from './errors.ts';
import { STORED_GROUP } from './names.ts';

export interface Collection {
  readonly kind: KindDefinition;
  /** Undefined: every namespace. */
  readonly namespace: string | undefined;
}

const collectionParts = ['changes', 'search', 'queries', 'aggregate'] as const;
const objectParts = ['incarnations', 'events', 'restore'] as const;

export interface CollectionTarget extends Collection {
  readonly type: 'list' | (typeof collectionParts)[number];
}

export interface ObjectTarget {
  readonly type: 'object' | (typeof objectParts)[number];
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly name: string;
}

const wholeParts = ['summary', 'stuck', '-/clusters'] as const;

/** Of all kinds. */
export interface WholeTarget<Type = (typeof wholeParts)[number]> {
  readonly type: Type;
}

export type Target = CollectionTarget | ObjectTarget | WholeTarget<'summary' | 'stuck'> | WholeTarget<'-/clusters'>;

const BASE = `/apis/${STORED_GROUP}/${VERSION}/`;

/**
 * Undefined where the path is none of this API's resources. A kind that is not served is NotFound, and so is a name that
 * no object can have: the database would take "m1 " for "m1".
 */
export function parseTarget(path: string, kinds: readonly KindDefinition[]): Target | undefined {
  if (!path.startsWith(BASE)) return undefined;
  const steps = path.slice(BASE.length).split('/').map(decodeStep);
  const whole = wholeParts.find((known) => known === steps.join('/'));
  if (whole !== undefined) return { type: whole };
  const namespace = namespaceIn(steps);
  const [plural = '', name, part, ...rest] = namespace === undefined ? steps : steps.slice(2);
  if (plural === '' || rest.length > 0) return undefined;
  const kind = kindOf(plural, kinds);
  if (name === undefined) return { type: 'list', kind, namespace };
  if (name === '-') return collectionTarget({ kind, namespace }, part);
  return namespace === undefined || name === '' ? undefined : objectTarget({ kind, namespace, name }, part);
}

function namespaceIn([first, second]: readonly string[]): string | undefined {
  if (first !== 'namespaces' || second === undefined) return undefined;
  if (!isNamespace(second)) throw notPossible('namespace', second);
  return second;
}

function collectionTarget(collection: Collection, part: string | undefined): CollectionTarget | undefined {
  const type = collectionParts.find((known) => known === part);
  return type === undefined ? undefined : { type, ...collection };
}

function objectTarget(object: Omit<ObjectTarget, 'type'>, part: string | undefined): ObjectTarget | undefined {
  if (!isObjectName(object.name)) throw notPossible(object.kind.plural, object.name);
  if (part === undefined) return { type: 'object', ...object };
  const type = objectParts.find((known) => known === part);
  return type === undefined ? undefined : { type, ...object };
}

function notPossible(what: string, name: string): QueryError {
  return new QueryError('NotFound', `${what} "${name.slice(0, 300)}" not found: no object can have that name`);
}

function kindOf(plural: string, kinds: readonly KindDefinition[]): KindDefinition {
  const kind = kinds.find((candidate) => candidate.plural === plural);
  if (kind !== undefined) return kind;
  const served = kinds.map((candidate) => candidate.plural).join(', ');
  throw new QueryError('NotFound', `there is no resource ${plural.slice(0, 100)}; served are ${served}`);
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    throw new QueryError('BadRequest', 'the path is not valid percent-encoding');
  }
}

// Names that the API server accepts, by the rules of apimachinery's validation.

const LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const label = new RegExp(`^${LABEL}$`);
const subdomain = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const LONGEST_LABEL = 63;
const LONGEST_SUBDOMAIN = 253;

export function isNamespace(text: string): boolean {
  return text.length <= LONGEST_LABEL && label.test(text);
}

/** Of a custom resource. */
export function isObjectName(text: string): boolean {
  return text.length <= LONGEST_SUBDOMAIN && subdomain.test(text);
}
