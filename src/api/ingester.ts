/**
 * The resource that describes a whole installation has a group of its own: rights on the group of the ingested kinds do
 * not grant it, and the platform's API server removes from there what it does not know.
 */
export const INGESTER_GROUP = 'ingester.michelangelo.api';
export const INGESTER_VERSION = 'v1';
export const INGESTER_KIND = 'Ingester';
export const INGESTER_PLURAL = 'ingesters';

/** The version that is asked for. */
export const VERSION_PATH: readonly string[] = ['spec', 'version'];

/** The version to which the database was brought by the last migration that succeeded. */
export const MIGRATED_VERSION_PATH: readonly string[] = ['status', 'migratedVersion'];
