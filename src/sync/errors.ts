import type { ObjectMeta } from '../api/object.ts';
import { CodedError } from '../base/errors.ts';

/**
 * MySQL holds a newer state than the one at hand, so the finalizer must not come off yet. Passes by itself when the
 * watch catches up.
 */
export class StaleStateError extends CodedError {
  constructor(resourceVersion: string) {
    super(
      'SYNC_STALE',
      `MySQL holds a newer state than resourceVersion ${resourceVersion}; waiting for the newer state to arrive.`,
      { retry: 'yes' },
    );
  }
}

/** The annotation for the propagation policy has a value that Kubernetes does not know. */
export class PropagationInvalidError extends CodedError {
  constructor(known: readonly string[]) {
    super(
      'SYNC_PROPAGATION_INVALID',
      `The object is not deleted: michelangelo/DeletePropagation must be one of ${known.join(', ')}. ` +
        'Correct or remove the annotation.',
    );
  }
}

/** The disk of the spool is full, broken or silent. */
export class SpoolDiskError extends CodedError {
  constructor(what: string, cause?: unknown) {
    super(
      'SPOOL_DISK',
      `The disk for final states (outage.spoolDirectory) cannot be used: ${what}. What it should keep waits for MySQL.`,
      { retry: 'yes', cause },
    );
  }
}

/** The uninstall was stopped before it was done. */
export class UninstallStoppedError extends CodedError {
  constructor() {
    super('UNINSTALL_STOPPED', 'The uninstall was stopped before every finalizer was removed. Run it again to go on.');
  }
}

/** In the time that was allowed no new object was guarded. */
export class ProbeFailedError extends CodedError {
  constructor(reason: string) {
    super('PROBE_FAILED', `New objects are not guarded: ${reason}`);
  }
}

/** The time that was allowed is over and objects are still guarded. */
export class UninstallStuckError extends CodedError {
  constructor(guarded: number, refusal: string | undefined) {
    super(
      'UNINSTALL_STUCK',
      `${guarded} objects were guarded when they were last listed. ` +
        (refusal === undefined
          ? 'Something adds the finalizer again: look for a webhook of the bundle that was installed again, then run it again.'
          : `The API server refuses to remove the finalizer of some of them: ${refusal}`),
      { retry: 'yes' },
    );
  }
}

/** The namespace that was named is gone, and the bundle is in another one. */
export class UninstallElsewhereError extends CodedError {
  constructor(namespace: string, others: readonly string[]) {
    super(
      'UNINSTALL_ELSEWHERE',
      `There is no namespace ${namespace}, and the bundle is in ${others.join(', ')}: nothing was done. Name that namespace in ` +
        'kubernetes.namespace, or in INGESTER_KUBERNETES_NAMESPACE, and run it again.',
    );
  }
}

/** MySQL and the cluster differ. `outcome` says what became of a repair, where there was one. */
export class AuditFindingsError extends CodedError {
  constructor(open: readonly { readonly finding: string; readonly outcome?: string }[]) {
    const names = open.map(({ finding, outcome }) => (outcome === undefined ? finding : `${finding}, ${outcome}`));
    const counts = [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => `${length} ${name}`);
    super(
      'AUDIT_FINDINGS',
      `${open.length} findings are open (${counts.join('; ')}). docs/audit.md says what each means; --repair repairs most.`,
    );
  }
}

/** A database would not do in place of the one in use. */
export class DrillFailedError extends CodedError {
  constructor(failed: number) {
    super(
      'DRILL_FAILED',
      `${failed} objects would not come back from this database. docs/disaster-recovery.md#a-rehearsal says what to do.`,
    );
  }
}

/** A restore found no row under this name, or under this uid. */
export class NothingStoredError extends CodedError {
  constructor(what: string, uid: string | undefined) {
    const which = uid === undefined ? '' : ` with uid ${uid}`;
    super('RESTORE_NOTHING_STORED', `MySQL has no evicted or deleted ${what}${which}. Check kind, namespace and name.`);
  }
}

/** A restore needs the namespace, which nothing brings back. */
export class RestoreNamespaceMissingError extends CodedError {
  constructor(namespace: string) {
    super(
      'RESTORE_NAMESPACE_MISSING',
      `The cluster has no namespace ${namespace}. Create it ("kubectl create namespace ${namespace}"), then restore again.`,
    );
  }
}

/** A restore was asked for an object that is in the cluster. */
export class NotRestorableError extends CodedError {
  constructor(what: string, state: string) {
    super('RESTORE_NOT_ENDED', `${what} is ${state}: it is in the cluster, so there is nothing to restore.`);
  }
}

/** The name is in use; a restore never replaces anything. */
export class RestoreConflictError extends CodedError {
  constructor(name: string, holder?: ObjectMeta) {
    const what = holder === undefined ? name : `${name} (uid ${holder.uid})`;
    const message =
      holder?.deletionTimestamp === undefined
        ? `${what} exists in the cluster, and a restore replaces nothing. Delete that object first.`
        : `${what} is leaving the cluster. Try again in a moment.`;
    super('RESTORE_CONFLICT', message);
  }
}

/** An operator has paused eviction. */
export class EvictionPausedError extends CodedError {
  constructor() {
    super('EVICTION_PAUSED', 'Eviction is paused. Run "ingester resume --eviction".');
  }
}
