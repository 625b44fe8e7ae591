import type { ObjectRef, Resource, Selection } from '../client.ts';

function groupPath({ group, version }: Resource): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** `namespace` empty or undefined: cluster-scoped, or all namespaces. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const scope = namespace === undefined || namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${groupPath(resource)}${scope}/${resource.plural}`;
}

export function objectPath(ref: ObjectRef, subresource?: 'status'): string {
  const path = `${collectionPath(ref.resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

export function selectionQuery({ labelSelector, fieldSelector }: Selection): Readonly<Record<string, string>> {
  return { ...optional('labelSelector', labelSelector), ...optional('fieldSelector', fieldSelector) };
}

/** A query parameter that is left out where it has no value. */
export function optional(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined ? {} : { [name]: value };
}
