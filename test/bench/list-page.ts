/** Of a list that a scripted API server answers: how many objects there are, and the text of each when it is asked for. */
export interface ScriptedList {
  readonly kind: string;
  readonly count: number;
  readonly resourceVersion: number;
  readonly textOf: (index: number) => string;
}

/** The page that the query asks for; the token says where it continues. */
export function listPage(query: URLSearchParams, { kind, count, resourceVersion, textOf }: ScriptedList): string {
  const from = Number(query.get('continue') ?? 0);
  const end = Math.min(count, from + Number(query.get('limit') ?? count));
  const items = Array.from({ length: end - from }, (_, offset) => textOf(from + offset));
  const more = end < count ? { continue: String(end) } : {};
  const metadata = JSON.stringify({ ...more, resourceVersion: String(resourceVersion) });
  // In the order of keys of the API server.
  return `{"apiVersion":"michelangelo.api/v2","items":[${items.join(',')}],"kind":"${kind}List","metadata":${metadata}}`;
}
