// What is looked at stands in the hash of the address, so that a link can be shared and "back" goes back.

export interface Address {
  /** '' for the overview. */
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: URLSearchParams;
}

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [plural = '', namespace, name] = path.split('/').map(decoded);
  return { plural, namespace, name, query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function hashOf(path: readonly string[], query: URLSearchParams = new URLSearchParams()): string {
  const text = query.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export function objectHash(
  plural: string,
  at: { readonly namespace: string; readonly name: string },
  uid?: string,
): string {
  return hashOf([plural, at.namespace, at.name], new URLSearchParams(uid === undefined ? {} : { uid }));
}

export function objectPath(plural: string, { namespace, name }: { namespace: string; name: string }): string {
  return `/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
}

/** The path of a collection, and the parameters by which the filters of an address select. */
function selection(plural: string, query: URLSearchParams): readonly [path: string, parameters: URLSearchParams] {
  const parameters = new URLSearchParams(query);
  const take = (name: string): string => {
    const value = parameters.get(name)?.trim() ?? '';
    parameters.delete(name);
    return value;
  };
  const namespace = take('namespace');
  const name = take('name').replace(/\*+$/, '');
  for (const [key, value] of query) if (value.trim() === '') parameters.delete(key);
  if (name !== '') parameters.set('namePrefix', name);
  return [`${namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`}/${plural}`, parameters];
}

export function listPath(plural: string, query: URLSearchParams, limit: number): string {
  const [path, parameters] = selection(plural, query);
  parameters.set('limit', String(limit));
  return `${path}?${parameters.toString()}`;
}

/** What counts the same objects, without reading them. */
export function countPath(plural: string, query: URLSearchParams): string {
  const [path, parameters] = selection(plural, query);
  parameters.delete('orderBy');
  return `${path}/-/aggregate?${parameters.toString()}`;
}

/** The order after a click on a head: first ascending, then descending, then as the API has it. */
export function nextOrder(current: string | null, field: string): string | undefined {
  if (current === field) return `-${field}`;
  return current === `-${field}` ? undefined : field;
}

const columns: Readonly<Record<string, string>> = {
  Name: 'metadata.name',
  Namespace: 'metadata.namespace',
  Age: 'metadata.creationTimestamp',
  Stored: 'metadata.updateTimestamp',
};

/** By which field the rows are ordered when a user orders by this column, where that is possible. */
export function orderField(
  column: { readonly name: string; readonly description: string },
  fields: readonly string[],
): string | undefined {
  const known = Object.hasOwn(columns, column.name) ? columns[column.name] : undefined;
  const path = /^Value of \.(\S+)\.$/.exec(column.description)?.[1];
  return fields.find((field) => field === (known ?? path));
}
