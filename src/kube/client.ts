import type { KubernetesObject } from '../api/object.ts';
import type { JsonValue } from '../base/json.ts';

export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

export interface ObjectRef {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface ListOptions {
  readonly limit: number;
  readonly continueToken?: string;
}

export interface ListPage {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
  /** Undefined on the last page. */
  readonly continueToken: string | undefined;
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

export interface WatchOptions {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
}

export type JsonPatch = readonly (
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string }
)[];

export interface DeleteOptions {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Undefined leaves the choice to the server. */
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
}

/** The calls this program makes to the API server, for namespaced custom resources. Every failure is a KubeError. */
export interface KubeClient {
  list(resource: Resource, options: ListOptions, signal: AbortSignal): Promise<ListPage>;
  /** Ends when the server closes the stream; throws KubeError for an ERROR event, a cut line or a silent server. */
  watch(resource: Resource, options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /** A JSON patch whose `test` fails gives KubeError with reason Conflict. */
  patch(ref: ObjectRef, patch: JsonPatch): Promise<KubernetesObject>;
  /** Fails with reason Conflict where the object is not exactly the one named by uid and resourceVersion. */
  delete(ref: ObjectRef, options: DeleteOptions): Promise<void>;
  close(): Promise<void>;
}
