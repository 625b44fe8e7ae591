// What an object names and what names it, as a tree: the relations that the page shows as a picture.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { StoredObjects } from '../../app/commands/stored-objects.ts';
import { age } from '../../base/human-duration.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../base/json.ts';
import { KubeError } from '../../kube/errors.ts';
import type { KindSummary, StoredDocument } from '../../query/ui/lib/documents.ts';
import { namedBy, referrersOf } from '../../query/ui/lib/relations.ts';
import { printColoured, printRaw } from '../print.ts';
import { cellText, itemsOf, showsColours, textTable, withHeads } from './output.ts';
import { objectPath, oneObject, withSession } from './session.ts';

/** Of each kind that names an object. */
const MOST_OF_A_KIND = 10;
/** Of the whole tree. */
const MOST = 200;
const DEEPEST = 5;

const PREFIX = 'stored.michelangelo.api/';
const places: Readonly<Record<string, string>> = { live: 'etcd and MySQL', evicted: 'MySQL', deleted: 'deleted' };

/** An object of the tree. */
export interface Leaf {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** How it belongs to the one above: the field of either that names the other. Undefined for the first. */
  readonly by?: string;
  /** Which of the two names the other. */
  readonly is: 'object' | 'named' | 'names';
  /** Undefined where it is not known, or not stored. */
  readonly state?: string;
  readonly created?: string;
  /** Why it is not known. */
  readonly problem?: string;
  readonly children: readonly Leaf[];
  /** There are more that name it. */
  readonly more?: true;
}

/** A list of what belongs to an object. */
interface Lookup {
  readonly plural: string;
  readonly query: Readonly<Record<string, string>>;
  readonly by: string;
}

interface TreeFlags {
  readonly depth: number;
  readonly headers: boolean;
  readonly output: string;
}

const help = `
First comes what the object names (its owners, and the fields of its spec and status that hold a namespace and a name), then what
it owns, then what names it by an indexed field, and what names that, down to --depth.

Examples:
  kubectl ingester tree pipelinerun run-1 -n ml
  kubectl ingester tree pipeline/train -n ml --depth 3 -o json
`;

export function addTreeCommand(program: Command): void {
  program
    .command('tree <kind> [name]')
    .description('what an object names and what names it, wherever it is stored')
    .option('--depth <number>', `how deep to follow what names it, ${DEEPEST} at most`, depthOf, 2)
    .option('--no-headers', 'the table without its head')
    .addOption(new Option('-o, --output <format>', 'table or json').choices(['table', 'json']).default('table'))
    .addHelpText('after', help)
    .action(async (kind: string, name: string | undefined, { depth, headers, output }: TreeFlags) => {
      const target = oneObject(kind, name);
      await withSession(program, async ({ objects, namespace }) => {
        const object = await objects.call({ path: objectPath(target.kind, namespace, target.name) });
        const tree = await treeOf(objects, object, depth);
        const coloured = showsColours(process.stdout, process.env) ? 'coloured' : 'plain';
        if (output === 'json') printRaw(`${JSON.stringify(tree)}\n`);
        else printColoured(withHeads(treeText(tree, coloured, new Date()), headers ? 'heads' : 'no-heads'));
      });
    });
}

function depthOf(text: string): number {
  const depth = Number(text);
  if (Number.isInteger(depth) && depth >= 1 && depth <= DEEPEST) return depth;
  throw new InvalidArgumentError(`It is a whole number from 1 to ${DEEPEST}.`);
}

export async function treeOf(objects: Pick<StoredObjects, 'call'>, object: JsonObject, depth: number): Promise<Leaf> {
  const kinds = itemsOf(await objects.call({ path: '/summary' })) as unknown as readonly KindSummary[];
  return new Tree(objects, kinds).from(object, depth);
}

class Tree {
  readonly #objects: Pick<StoredObjects, 'call'>;
  readonly #kinds: readonly KindSummary[];
  /** What is in the tree; nothing is in it twice. */
  readonly #known = new Set<string>();

  constructor(objects: Pick<StoredObjects, 'call'>, kinds: readonly KindSummary[]) {
    this.#objects = objects;
    this.#kinds = kinds;
  }

  async from(object: JsonObject, depth: number): Promise<Leaf> {
    const document = object as unknown as StoredDocument;
    const first = leafOf(object, { is: 'object' });
    this.#known.add(keyOf(first));
    const named: Leaf[] = [];
    for (const relation of namedBy(document, this.#kinds)) named.push(await this.#named(relation));
    const { children, ...more } = await this.#naming(document, depth, this.#ownedBy(document));
    return { ...first, ...more, children: [...named, ...children] };
  }

  /** Something that is named need not be stored, nor be a kind that the user may read. */
  async #named(relation: ReturnType<typeof namedBy>[number]): Promise<Leaf> {
    const { by, kind, namespace, name, plural } = relation;
    const told = { kind, namespace, name, by, is: 'named', children: [] } as const;
    this.#known.add(keyOf(told));
    if (plural === undefined) return { ...told, problem: 'unknown' };
    try {
      return leafOf(await this.#objects.call({ path: pathOf(plural, namespace, name) }), { by, is: 'named' });
    } catch (error) {
      if (!(error instanceof KubeError) || (error.reason !== 'NotFound' && error.reason !== 'Forbidden')) throw error;
      return { ...told, problem: error.reason === 'NotFound' ? 'not stored' : 'forbidden' };
    }
  }

  /** Of every kind that has objects; what is owned is asked for of the first object only. */
  #ownedBy({ metadata }: StoredDocument): readonly Lookup[] {
    const fieldSelector = `metadata.ownerReferences.uid=${metadata.uid}`;
    return this.#kinds
      .filter(({ counts }) => Object.values(counts).some((count) => count > 0))
      .map(({ plural }) => ({ plural, query: { fieldSelector, source: 'all' }, by: 'owner' }));
  }

  async #naming(
    document: StoredDocument,
    depth: number,
    owned: readonly Lookup[] = [],
  ): Promise<Pick<Leaf, 'children' | 'more'>> {
    const children: Leaf[] = [];
    let isCut = false;
    const named = referrersOf(document, this.#kinds).map(({ plural, query }): Lookup => {
      const by = cellText(query.get('fieldSelector')).split('.namespace=')[0] ?? '';
      return { plural, query: Object.fromEntries(query), by };
    });
    for (const { plural, query, by } of depth === 0 ? [] : [...owned, ...named]) {
      const asked = { ...query, limit: String(MOST_OF_A_KIND), skip: 'spec,status' };
      const list = await this.#objects.call({ path: `/${plural}`, query: asked });
      isCut ||= cellText(valueAt(list, ['metadata', 'continue'])) !== '';
      for (const item of itemsOf(list)) {
        const leaf = leafOf(item, { by, is: 'names' });
        if (this.#known.has(keyOf(leaf))) continue;
        if (this.#known.size >= MOST) return { children, more: true };
        this.#known.add(keyOf(leaf));
        children.push({ ...leaf, ...(await this.#naming(item as unknown as StoredDocument, depth - 1)) });
      }
    }
    return { children, ...(isCut ? { more: true } : {}) };
  }
}

function pathOf(plural: string, namespace: string, name: string): string {
  return `/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
}

function keyOf({ kind, namespace, name }: Pick<Leaf, 'kind' | 'namespace' | 'name'>): string {
  return JSON.stringify([kind, namespace, name]);
}

function leafOf(object: JsonObject, how: Pick<Leaf, 'by' | 'is'>): Leaf {
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  return {
    kind: cellText(object['kind']),
    namespace: cellText(metadata['namespace']),
    name: cellText(metadata['name']),
    ...how,
    state: cellText(valueAt(metadata, ['annotations', `${PREFIX}state`])),
    created: cellText(metadata['creationTimestamp']),
    children: [],
  };
}

export function treeText(tree: Leaf, coloured: 'coloured' | 'plain', now: Date): string {
  return textTable([['NAMESPACE', 'NAME', 'RELATION', 'WHERE', 'AGE'], ...rowsOf(tree, '', '', now)], coloured);
}

/** `own` is drawn before the name, `below` before those of what is below it. */
function rowsOf(leaf: Leaf, own: string, below: string, now: Date): readonly (readonly string[])[] {
  const { kind, namespace, name, state, created, problem, children, more } = leaf;
  const relation = relationOf(leaf);
  const where = problem ?? places[state ?? ''] ?? '';
  const rows = children.flatMap((child, index) => {
    const isLast = index === children.length - 1 && more !== true;
    return rowsOf(child, `${below}${isLast ? '└─' : '├─'}`, `${below}${isLast ? '  ' : '│ '}`, now);
  });
  return [
    [namespace, `${own}${kind}/${name}`, relation, where, problem === undefined ? age(created, now) : ''],
    ...rows,
    ...(more === true ? [['', `${below}└─… and more`, '', '', '']] : []),
  ];
}

function relationOf({ is, by = '' }: Leaf): string {
  if (is === 'object') return '';
  if (by === 'owner') return is === 'named' ? 'its owner' : 'it owns it';
  return is === 'named' ? `named in ${by}` : `names it in ${by}`;
}
