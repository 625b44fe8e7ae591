// An object whose content is parsed when it is first read. Most events only say that a key must be looked at again:
// for that its identity is enough, or its metadata, and parsing the rest is the largest part of what an event costs.
import { IDENTITY, type Identity, KEY, type KubernetesObject, type Marks, type ObjectMeta } from '../api/object.ts';

/** Where the content comes from: called when something is read that it is needed for. */
export interface Content {
  /** Bytes that are kept until then. */
  readonly bytes: number;
  metadata(): ObjectMeta;
  /** What the metadata have of them, without parsing the others. */
  marks(): Marks;
  whole(): KubernetesObject;
  /** Keeps no more bytes than it needs, and none together with others. */
  compact(): void;
}

class Lazy {
  readonly identity: Identity;
  readonly key: string;
  readonly content: Content;
  #view: ObjectMeta | undefined;
  #metadata: ObjectMeta | undefined;
  #whole: KubernetesObject | undefined;

  constructor(identity: Identity, content: Content) {
    this.identity = identity;
    this.key = `${identity.namespace ?? ''}/${identity.name}`;
    this.content = content;
  }

  /** Reads like the metadata. */
  get view(): ObjectMeta {
    this.#view ??= new Proxy<Lazy>(this, ofMetadata) as unknown as ObjectMeta;
    return this.#view;
  }

  metadata(): ObjectMeta {
    this.#metadata ??= this.content.metadata();
    return this.#metadata;
  }

  /** Not kept for the next reader. */
  passingMarks(): Marks {
    return this.#metadata ?? this.#whole?.metadata ?? this.content.marks();
  }

  whole(): KubernetesObject {
    this.#whole ??= this.content.whole();
    return this.#whole;
  }

  /** Not kept for the next reader. */
  passingWhole(): KubernetesObject {
    return this.#whole ?? this.content.whole();
  }
}

/** Answers every question from what the function gives, and allows no change. */
function reading(source: (lazy: Lazy) => object): ProxyHandler<Lazy> {
  const refuse = (): boolean => false;
  return {
    get: (lazy, key) => Reflect.get(source(lazy), key) as unknown,
    has: (lazy, key) => Reflect.has(source(lazy), key),
    ownKeys: (lazy) => Reflect.ownKeys(source(lazy)),
    getOwnPropertyDescriptor: (lazy, key) => Reflect.getOwnPropertyDescriptor(source(lazy), key),
    getPrototypeOf: () => Object.prototype,
    set: refuse,
    defineProperty: refuse,
    deleteProperty: refuse,
    setPrototypeOf: refuse,
    preventExtensions: refuse,
  };
}

const LAZY = Symbol('lazy');

const ofObject: ProxyHandler<Lazy> = {
  ...reading((lazy) => lazy.whole()),
  get: (lazy, key) => {
    switch (key) {
      case 'metadata':
        return lazy.view;
      case KEY:
        return lazy.key;
      case IDENTITY:
        return lazy.identity;
      case LAZY:
        return lazy;
      // Asked by every promise that is given the object. No object of the API server has it.
      case 'then':
        return undefined;
      default:
        return Reflect.get(lazy.whole(), key) as unknown;
    }
  },
};

function lazyOf(object: KubernetesObject): Lazy | undefined {
  return (object as unknown as { readonly [LAZY]?: Lazy })[LAZY];
}

/** Length of the object as it was received; undefined for one that was not, or that had to be parsed at once. */
export function receivedBytes(object: KubernetesObject): number | undefined {
  return lazyOf(object)?.content.bytes;
}

/** For an object that will wait: it arrived in one piece of memory with others, which stays as long as any of them. */
export function compact(object: KubernetesObject): void {
  lazyOf(object)?.content.compact();
}

/** For one look at them: of thousands of objects that wait, parsed metadata would fill the memory. */
export function passingMarks(object: KubernetesObject): Marks {
  return lazyOf(object)?.passingMarks() ?? object.metadata;
}

/**
 * The same object without laziness, for a caller that reads all of it: a plain object is much faster to read. Parsed
 * for each caller and not kept, so that it is freed with the caller's reference.
 */
export function wholeObject(object: KubernetesObject): KubernetesObject {
  return lazyOf(object)?.passingWhole() ?? object;
}

const ofMetadata: ProxyHandler<Lazy> = {
  ...reading((lazy) => lazy.metadata()),
  get: (lazy, key) => {
    switch (key) {
      case 'name':
      case 'namespace':
      case 'uid':
      case 'resourceVersion':
        return lazy.identity[key];
      default:
        return Reflect.get(lazy.metadata(), key) as unknown;
    }
  },
};

/**
 * Behaves like the whole object, in reading, copying and printing. What is parsed for that is what is read: nothing for
 * the identity, the metadata for its other fields, and the whole object for anything else. Like any function that reads
 * the object, `content` may throw then. It cannot be changed.
 */
export function lazyObject(identity: Identity, content: Content): KubernetesObject {
  return new Proxy(new Lazy(identity, content), ofObject) as unknown as KubernetesObject;
}
