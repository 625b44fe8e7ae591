/**
 * What permits one downgrade of an Ingester resource: the way from what its database was migrated to, to what is asked
 * for. Left behind, it permits nothing else, also not the same target from a later version.
 */
export function downgradeWay(from: string, to: string): string {
  return `${from}:${to}`;
}
