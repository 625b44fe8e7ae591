import jsonPatch from 'fast-json-patch';

/** A copy of the document with the patch applied; throws where a `test` fails or a path does not exist. */
export function applyJsonPatch<T>(document: T, patch: readonly object[]): T {
  const copy = structuredClone(document);
  const operations = structuredClone(patch) as Parameters<typeof jsonPatch.applyPatch>[1];
  return jsonPatch.applyPatch(copy, operations, true, true, true).newDocument;
}
