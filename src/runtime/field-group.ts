// Server-side apply with one field manager for each group of fields.
//
// The API server remembers who applied which field. What a manager applied before and leaves out now is removed. So two
// writers that share a manager delete each other's fields, and each group of fields that is written at another time or
// by another part of the program needs a manager of its own.
//
// An apply that changes nothing makes no event and no new resourceVersion, so there is nothing to compare before: send
// the whole intent, every time.
import type { KubernetesObject } from '../api/object.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { FieldGroupError } from './errors.ts';

export interface FieldGroup {
  /** Owner of the fields on the API server, and unlike that of any other group. Renaming it orphans what it owned. */
  readonly manager: string;
  /** The fields below the root that it may apply: `spec`, or `metadata.labels`. */
  readonly fields: readonly string[];
}

export interface ApplyTarget {
  readonly resource: Resource;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Applies the whole intent of one group. Takes fields over from others by force: a field belongs to the group that was
 * written for it. Throws FieldGroupError for a field outside the group, before anything is sent.
 */
export function applyFields(
  client: Pick<KubeClient, 'apply'>,
  target: ApplyTarget,
  group: FieldGroup,
  intent: Readonly<Record<string, unknown>>,
): Promise<KubernetesObject> {
  for (const field of fieldsOf(intent)) {
    if (!group.fields.includes(field)) throw new FieldGroupError(group.manager, field);
  }
  return client.apply(target, bodyOf(target, intent), { fieldManager: group.manager, force: true });
}

/**
 * Writes the status blindly: without reading it and whatever version the object has. For status that is mere output,
 * computed anew from the specification and the world each time; see docs/runtime.md for the other kind.
 */
export function applyStatus(
  client: Pick<KubeClient, 'apply'>,
  target: ApplyTarget,
  manager: string,
  status: object,
): Promise<KubernetesObject> {
  return client.apply(target, bodyOf(target, { status }), {
    fieldManager: manager,
    force: true,
    subresource: 'status',
  });
}

/** Metadata is shared by many, so its parts are fields of their own. */
function fieldsOf(intent: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(intent).flatMap(([field, value]) =>
    field === 'metadata' && typeof value === 'object' && value !== null
      ? Object.keys(value).map((part) => `metadata.${part}`)
      : [field],
  );
}

function bodyOf({ apiVersion, kind, namespace, name }: ApplyTarget, intent: Readonly<Record<string, unknown>>): object {
  const id = namespace === '' ? { name } : { namespace, name };
  const metadata = typeof intent['metadata'] === 'object' ? intent['metadata'] : {};
  return { ...intent, apiVersion, kind, metadata: { ...metadata, ...id } };
}
