/** Names shared with the original system and with every client of it. They must never change. */
export const GROUP = 'michelangelo.api';
export const VERSION = 'v2';

/** Holds an object in etcd until MySQL has its final state. */
export const FINALIZER = 'michelangelo/Ingester';

/** Prefix of the labels and annotations that only this system changes. */
export const SYSTEM_PREFIX = 'michelangelo/';

/** The exact value "true" asks for a deletion that the caller does not wait for. */
export const DELETING_ANNOTATION = 'michelangelo/Deleting';

/** The exact value "true" asks for eviction: the object leaves etcd and stays in MySQL. */
export const IMMUTABLE_ANNOTATION = 'michelangelo/Immutable';

/** What the column `uid` of the row is to be, in place of the uid: so an object keeps its row in another cluster. */
export const PRIMARY_KEY_ANNOTATION = 'michelangelo/MetadataStoragePrimaryKey';

/** kubectl's copy of the applied manifest; repeats the whole object, secrets included, so no row keeps it. */
export const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

/** Permits one downgrade by naming its exact target, e.g. "1.3.2"; several targets are separated by commas. */
export const ALLOW_DOWNGRADE_ANNOTATION = 'michelangelo/allow-downgrade';

/** The exact value "true" permits the deletion of a CRD, and with it of every object of the kind. */
export const ALLOW_CRD_DELETE_ANNOTATION = 'michelangelo/allow-crd-delete';

/** uid of an archived object that may stay in the database beside the one that is created under its name. */
export const ALLOW_ARCHIVED_NAME_ANNOTATION = 'michelangelo/allow-archived-name';

/** How the DELETE that follows `michelangelo/Deleting` treats dependants: Orphan, Background or Foreground. */
export const PROPAGATION_ANNOTATION = 'michelangelo/DeletePropagation';

/** `Retain` keeps an object in etcd whatever asks for its eviction; `Allow` evicts it although GitOps owns it. */
export const EVICTION_ANNOTATION = 'michelangelo/Eviction';

/** When the reconciler took back the eviction that a rule had asked for. */
export const EVICTION_WITHDRAWN_ANNOTATION = 'michelangelo/EvictionWithdrawn';

/** The exact value "true" keeps the sweep away from an object, so that a user can remove its finalizer for good. */
export const UNGUARDED_ANNOTATION = 'michelangelo/Unguarded';

/** Label of everything the bundle installs. */
export const BUNDLE_LABEL = 'app.kubernetes.io/name';
export const BUNDLE_NAME = 'michelangelo-ingester';

/** ConfigMap whose `phase` says whether the bundle is in use (`active`), `uninstalling`, or `removable`. */
export const UNINSTALL_MARKER = 'ingester-uninstall';

/** uid of the incarnation that an object was restored from. */
export const RESTORED_FROM_ANNOTATION = 'michelangelo/RestoredFrom';

/** The user who requested the deletion, or the restore, of an object through the query API. */
export const REQUESTED_BY_ANNOTATION = 'michelangelo/RequestedBy';

/** Approves the one upgrade whose token it names; status.lifecycle.upgrade.token has it. */
export const APPROVE_UPGRADE_ANNOTATION = 'michelangelo/approve-upgrade';

/** Rejects the one upgrade whose token it names. */
export const REJECT_UPGRADE_ANNOTATION = 'michelangelo/reject-upgrade';

/** The user who set the approval, or the rejection; admission fills it in, and refuses the name of another user. */
export const APPROVED_BY_ANNOTATION = 'michelangelo/approved-by';
export const REJECTED_BY_ANNOTATION = 'michelangelo/rejected-by';

/** The exact value "true" makes an Ingester resource a canary: it runs nothing, and shows that reconciles are made. */
export const CANARY_LABEL = 'michelangelo/canary';

/** When a canary was touched last. */
export const CANARY_BEAT_ANNOTATION = 'michelangelo/canary-beat';

/** Label of stored objects only: a part of the object is in the row as text, because no database takes it as JSON. */
export const STORED_AS_TEXT_LABEL = 'michelangelo/stored-as-text';

/** Changed by an action of Argo CD, so that an object is looked at again. */
export const RESYNC_ANNOTATION = 'michelangelo/Resync';

/** Label with the name of the Ingester resource that something belongs to. */
export const INGESTER_LABEL = 'michelangelo/ingester';

/** What clients may put on objects of our kinds: what this system reads or writes, and what the original knows. */
export const knownAnnotations: readonly string[] = [
  DELETING_ANNOTATION,
  IMMUTABLE_ANNOTATION,
  ALLOW_DOWNGRADE_ANNOTATION,
  ALLOW_ARCHIVED_NAME_ANNOTATION,
  PROPAGATION_ANNOTATION,
  EVICTION_ANNOTATION,
  EVICTION_WITHDRAWN_ANNOTATION,
  UNGUARDED_ANNOTATION,
  RESTORED_FROM_ANNOTATION,
  REQUESTED_BY_ANNOTATION,
  RESYNC_ANNOTATION,
  'michelangelo/MetadataStoragePrimaryKey',
];
export const knownLabels: readonly string[] = [
  INGESTER_LABEL,
  STORED_AS_TEXT_LABEL,
  'michelangelo/UpdateTimestamp',
  'michelangelo/SpecUpdateTimestamp',
];
