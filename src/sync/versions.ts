/** Orders resourceVersions: whole numbers as decimal text of any length, as the API server documents since 1.35. */
export function compareVersions(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}
