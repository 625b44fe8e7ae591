// Users and controllers at work: objects are created, edited, marked and deleted, and every answer of the API server is
// remembered. What was not answered may or may not have happened.
import { DELETING_ANNOTATION, IMMUTABLE_ANNOTATION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { KubeClient, ObjectRef } from '../../src/kube/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { ifFound } from '../../src/kube/found.ts';
import type { Random } from './random.ts';

export type Wish = 'live' | 'delete' | 'mark' | 'evict';

export interface Known {
  readonly uid: string;
  readonly name: string;
  /** Highest number that the API server has acknowledged as the object's content. */
  content: number;
  /** What was asked for and acknowledged. */
  readonly wishes: Set<Wish>;
  /** What was asked for without an answer. */
  readonly maybe: Set<Wish>;
}

export const resource = { group: 'michelangelo.api', version: 'v2', plural: 'rayjobs' };
const NAMES = 60;
/** One edit of so many makes the object about as large as etcd takes it. */
const LARGE_ONE_IN = 25;
const LARGE_CHARACTERS = 1_400_000;

export class Workload {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #random: Random;
  readonly #current = new Map<string, Known>();
  readonly known: Map<string, Known> = new Map<string, Known>();
  readonly #acting = new Set<Promise<void>>();
  #memory: readonly { readonly known: Known; readonly open: boolean }[] = [];
  #resting: Promise<undefined> = Promise.resolve(undefined);
  #number = 0;
  operations = 0;

  constructor(client: KubeClient, namespace: string, random: Random) {
    this.#client = client;
    this.#namespace = namespace;
    this.#random = random;
  }

  /** Does the work while no client asks anything of the API server. */
  async atRest(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#resting = promise;
    try {
      await Promise.allSettled(this.#acting);
      await work();
    } finally {
      resolve(undefined);
    }
  }

  /** What is known at this moment can be recalled: a cluster that is restored to it has forgotten what came after. */
  remember(): void {
    this.#memory = [...this.known.values()].map((known) => ({ known: copyOf(known), open: this.#isOpen(known) }));
  }

  recall(): void {
    this.known.clear();
    this.#current.clear();
    for (const { known, open } of this.#memory) {
      this.known.set(known.uid, known);
      if (open) this.#current.set(known.name, known);
    }
    this.#memory = [];
  }

  #isOpen({ uid, name }: Known): boolean {
    return this.#current.get(name)?.uid === uid;
  }

  /** One thing that a user does. Refusals and lost answers are part of life. */
  async act(): Promise<void> {
    await this.#resting;
    const acting = this.#act();
    this.#acting.add(acting);
    try {
      await acting;
    } finally {
      this.#acting.delete(acting);
    }
  }

  async #act(): Promise<void> {
    const name = `object-${this.#random.below(NAMES)}`;
    const wish = this.#random.pick<Wish | 'edit'>([
      [10, 'edit'],
      [2, 'delete'],
      [1, 'mark'],
      [2, 'evict'],
    ]);
    this.#number += 1;
    this.operations += 1;
    try {
      await this.#do(name, wish, this.#number);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      // Gone, or another one by now; what was refused or not answered is tried again another time.
      if (error.reason === 'NotFound' || error.reason === 'Conflict') this.#current.delete(name);
    }
  }

  async #do(name: string, wish: Wish | 'edit', number: number): Promise<void> {
    const ref: ObjectRef = { resource, namespace: this.#namespace, name };
    const known = this.#current.get(name);
    if (known === undefined) return this.#create(ref, number);
    if (wish === 'edit') {
      const entrypoint = number % LARGE_ONE_IN === 0 ? 'x'.repeat(LARGE_CHARACTERS) : 'soak';
      const spec = { entrypoint, jobId: `${number}` };
      const edited = await this.#client.mergePatch(ref, { metadata: { uid: known.uid }, spec });
      if (edited.metadata.uid === known.uid) known.content = number;
      return;
    }
    known.maybe.add(wish);
    if (wish === 'delete') await this.#client.delete(ref, { uid: known.uid });
    else await this.#client.mergePatch(ref, markOf(wish, known.uid));
    known.wishes.add(wish);
    // From here on no user edits it any more; the next time the name comes up, a new object is made.
    if (this.#current.get(name) === known) this.#current.delete(name);
  }

  /** A create that was not answered may have happened; then the object is found when the name comes up again. */
  async #create(ref: ObjectRef, number: number): Promise<void> {
    const found = await this.#find(ref);
    if (found !== undefined) {
      this.#know(found);
      return;
    }
    const created = await this.#client.create(resource, this.#namespace, {
      apiVersion: 'michelangelo.api/v2',
      kind: 'RayJob',
      metadata: { namespace: ref.namespace, name: ref.name, annotations: { 'michelangelo/Eviction': 'Allow' } },
      spec: { entrypoint: 'soak', jobId: `${number}` },
    });
    this.#know(created);
  }

  #find(ref: ObjectRef): Promise<KubernetesObject | undefined> {
    return ifFound(this.#client.get(ref));
  }

  /** What a user wished to be gone is left alone. */
  #know({ metadata: { uid, name }, spec }: KubernetesObject): void {
    const content = Number((spec as { readonly jobId: string }).jobId);
    const known = this.known.get(uid) ?? { uid, name, content, wishes: new Set(), maybe: new Set() };
    this.known.set(uid, known);
    if (known.maybe.size === 0) this.#current.set(name, known);
  }
}

function markOf(wish: Wish, uid: string): object {
  const annotation = wish === 'mark' ? DELETING_ANNOTATION : IMMUTABLE_ANNOTATION;
  return { metadata: { uid, annotations: { [annotation]: 'true' } } };
}

function copyOf(known: Known): Known {
  return { ...known, wishes: new Set(known.wishes), maybe: new Set(known.maybe) };
}
