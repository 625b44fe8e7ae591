/**
 * Value of the annotation that permits one downgrade of an Ingester resource, from the migrated version to the requested
 * one. An annotation that stays permits nothing else, not even the same version from a later one.
 */
export function downgradeWay(from: string, to: string): string {
  return `${from}:${to}`;
}
