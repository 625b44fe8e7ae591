/** Names shared with the original system and with every client of it. They must never change. */
export const GROUP = 'michelangelo.api';
export const VERSION = 'v2';

/** Holds an object in etcd until MySQL has its final state. */
export const FINALIZER = 'michelangelo/Ingester';

/** The exact value "true" asks for a deletion that the caller does not wait for. */
export const DELETING_ANNOTATION = 'michelangelo/Deleting';

/** The exact value "true" asks for eviction: the object leaves etcd and stays in MySQL. */
export const IMMUTABLE_ANNOTATION = 'michelangelo/Immutable';

/** kubectl's copy of the applied manifest; repeats the whole object, secrets included, so no row keeps it. */
export const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
