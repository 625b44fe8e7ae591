/** The resource that describes a whole installation. */
export const INGESTER_KIND = 'Ingester';
export const INGESTER_PLURAL = 'ingesters';

/** The version that is asked for. */
export const VERSION_PATH: readonly string[] = ['spec', 'version'];

/** The version to which the database was brought by the last migration that succeeded. */
export const MIGRATED_VERSION_PATH: readonly string[] = ['status', 'migratedVersion'];
