import { CodedError, messageOf } from '../base/errors.ts';

/** Thrown by a reconcile whose key must not be tried again until it changes. */
export class TerminalError extends CodedError {
  constructor(cause: unknown) {
    super('RECONCILE_TERMINAL', `Not tried again until the object changes: ${messageOf(cause)}`, { cause });
  }
}

/** Why the signal of a reconcile was aborted while its controller goes on. */
export class ReconcileTimeoutError extends CodedError {
  constructor(timeoutMs: number) {
    super('RECONCILE_TIMEOUT', `The reconcile took longer than ${timeoutMs} ms and was asked to stop`, {
      retry: 'yes',
    });
  }
}

export class CacheSyncTimeoutError extends CodedError {
  constructor(controller: string, source: string, why: 'blocks' | 'not-synced') {
    const reason =
      why === 'blocks'
        ? `timed out waiting for source ${source} to start; its start must not block`
        : `timed out waiting for source ${source}; check that its kind is installed and may be listed`;
    super('CACHE_SYNC_TIMEOUT', `failed to wait for ${controller} caches to sync: ${reason}`, { retry: 'yes' });
  }
}

export class AlreadyStartedError extends CodedError {
  constructor(what: string) {
    super('ALREADY_STARTED', `${what} was started more than once; this is a mistake in the program`);
  }
}

export class ManagerStoppingError extends CodedError {
  constructor(runnable: string) {
    super('MANAGER_STOPPING', `${runnable} cannot be added any more, because the program is stopping`);
  }
}

/** More than one thing went wrong; `errors` has all of them, the message too. */
export class RunnablesFailedError extends CodedError {
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super('RUNNABLES_FAILED', errors.map(messageOf).join('; '), { cause: errors[0], retry: 'yes' });
    this.errors = errors;
  }
}

export class GracefulShutdownTimeoutError extends CodedError {
  constructor(timeoutMs: number, running: readonly string[]) {
    super('SHUTDOWN_TIMEOUT', `Still running ${timeoutMs} ms after the stop: ${running.join(', ')}`, { retry: 'yes' });
  }
}

export class LeaderElectionLostError extends CodedError {
  constructor() {
    super('LEADER_ELECTION_LOST', 'leader election lost; the process must end at once', { retry: 'yes' });
  }
}

export class ReplicaRightsError extends CodedError {
  constructor(namespace: string, cause: unknown) {
    super(
      'REPLICA_RIGHTS',
      `this replica is to work beside others, and may not read the Leases in ${namespace}: add the component active-replicas, or let one work`,
      { cause, retry: 'yes' },
    );
  }
}

export class LeaderElectionConfigError extends CodedError {
  constructor(problem: string) {
    super('LEADER_ELECTION_CONFIG', `Leader election: ${problem}`);
  }
}
