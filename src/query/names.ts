import type { Address } from '../base/https-server.ts';

/** The group under which stored objects are served; the version is that of the original. */
export const STORED_GROUP = 'stored.michelangelo.api';
export const STORED_GROUP_VERSION = 'stored.michelangelo.api/v2';

/** Where the query API is served, and the page that replaces it. */
export const QUERY_ADDRESS: Address = { port: 6443 };

/** Where discovery describes the group and version. */
export const GROUP_PATH = '/apis/stored.michelangelo.api/v2';

/** In answers only, never stored: where the object is. */
export const STATE_ANNOTATION = 'stored.michelangelo.api/state';
export const DELETE_TIME_ANNOTATION = 'stored.michelangelo.api/delete-time';
export const EVICT_TIME_ANNOTATION = 'stored.michelangelo.api/evict-time';
/** What this cluster is called beside others, as in Argo CD. */
export const OWN_CLUSTER = 'in-cluster';

/** Of an object of another cluster than the one that answers: its name in the configuration. */
export const CLUSTER_ANNOTATION = 'stored.michelangelo.api/cluster';
/** When MySQL took this state. */
export const UPDATE_TIME_ANNOTATION = 'stored.michelangelo.api/update-time';
