import type { Identity, KubernetesObject } from '../api/object.ts';
import type { JsonValue } from '../base/json.ts';
import type { WatchedObject } from './watched-object.ts';

/** `group` is empty for the core group. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** `namespace` is empty for cluster-scoped objects. */
export interface ObjectRef {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface Selection {
  /** Undefined: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface Sharded {
  /** Ranges of the hashes of uids; a server that does not know it shows all objects. */
  readonly shardSelector?: string | undefined;
}

export interface ListOptions extends Selection, Sharded {
  readonly limit: number;
  readonly continueToken?: string;
  /** Asks for metadata only (PartialObjectMetadata). */
  readonly metadataOnly?: boolean;
  /** An answer with more bytes is broken off with PageTooLargeError: it would not fit into the memory. */
  readonly mostBytes?: number;
}

export interface ListPage {
  readonly items: readonly WatchedObject[];
  readonly resourceVersion: string;
  /** Undefined on the last page. */
  readonly continueToken: string | undefined;
  /** Length of the answer; undefined where it did not come over a network. */
  readonly bytes?: number;
  /** Milliseconds from the call to the end of the answer; undefined like that. */
  readonly tookMs?: number;
}

export interface Newest {
  readonly resourceVersion: string;
  /** Undefined where there is none of that name. */
  readonly object: Identity | undefined;
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: WatchedObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

export interface WatchOptions extends Selection, Sharded {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  /** A watch without a byte for this long is dead. Two bookmarks and some slack unless given: they come every minute. */
  readonly silenceMs?: number;
}

export type JsonPatch = readonly (
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string }
)[];

export interface WriteOptions {
  /** Writes the subresource instead of the object. */
  readonly subresource?: 'status';
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** Refuses fields that the CRD does not have; they are dropped otherwise. */
  readonly strict?: boolean;
  /** Ends the call; what it has done by then is done. */
  readonly signal?: AbortSignal;
}

export interface ApplyOptions extends WriteOptions {
  /** The name under which the applied fields are owned. */
  readonly fieldManager: string;
  /** Takes over fields that others own. */
  readonly force: boolean;
}

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Undefined leaves the choice to the server. */
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly gracePeriodSeconds?: number;
}

/** The calls this program makes to the API server, for any resource, in plain JSON. Every failure is a KubeError. */
export interface KubeClient {
  get(ref: ObjectRef): Promise<KubernetesObject>;
  list(resource: Resource, options: ListOptions, signal: AbortSignal): Promise<ListPage>;
  /** What a list of the newest state would show now: its version and, where a name is given, that object. */
  newest(resource: Resource, selection: Selection & { readonly name?: string }, signal: AbortSignal): Promise<Newest>;
  /**
   * In order; what arrives together comes as one array, an empty one first, once the server took the watch. Ends when the server closes the stream; throws KubeError for an
   * ERROR event, a cut line or a silent server.
   */
  watch(resource: Resource, options: WatchOptions, signal: AbortSignal): AsyncIterable<readonly WatchEvent[]>;
  create(resource: Resource, namespace: string, object: object, options?: WriteOptions): Promise<KubernetesObject>;
  /** Full replacement; a resourceVersion in the object makes it fail with Conflict where another write came first. */
  update(ref: ObjectRef, object: object, options?: WriteOptions): Promise<KubernetesObject>;
  /** Fails with reason Conflict where a `test` does not hold, and with Refused where all hold and it was refused. */
  patch(ref: ObjectRef, patch: JsonPatch, options?: WriteOptions): Promise<KubernetesObject>;
  mergePatch(ref: ObjectRef, patch: object, options?: WriteOptions): Promise<KubernetesObject>;
  /** Server-side apply. */
  apply(ref: ObjectRef, object: object, options: ApplyOptions): Promise<KubernetesObject>;
  /**
   * Fails with reason Conflict where the object is not exactly the one named by uid and resourceVersion, and with Refused
   * where it is.
   */
  delete(ref: ObjectRef, options: DeleteOptions): Promise<void>;
  close(): Promise<void>;
}
