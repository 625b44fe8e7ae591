import { CodedError } from '../base/errors.ts';

/** The server does not answer, refuses connections, is shutting down or is read-only. Nothing is known to be written. */
export class StorageUnavailableError extends CodedError {
  constructor(what: string, cause: unknown) {
    super('STORAGE_UNAVAILABLE', `MySQL is not available: ${what}. Work waits and is retried.`, {
      retry: 'yes',
      cause,
    });
  }
}

/** Wrong user or password, or the user may not use the database. */
export class StorageAccessDeniedError extends CodedError {
  constructor(what: string) {
    super(
      'STORAGE_ACCESS_DENIED',
      `MySQL refused the login: ${what}. Check mysql.user and mysql.password (or mysql.passwordFile), and that the ` +
        'user was granted SELECT, INSERT, UPDATE and DELETE on mysql.database.',
      { retry: 'yes' },
    );
  }
}

/** The database named in the configuration does not exist. */
export class StorageDatabaseMissingError extends CodedError {
  constructor(database: string) {
    super(
      'STORAGE_DATABASE_MISSING',
      `The MySQL database "${database}" does not exist. Check mysql.database, or create it with ` +
        `CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4, then run "ingester task migrate".`,
      { retry: 'yes' },
    );
  }
}

/** Tables or columns are missing. */
export class StorageSchemaMissingError extends CodedError {
  constructor(what: string) {
    super(
      'STORAGE_SCHEMA_MISSING',
      `The database schema is incomplete: ${what}. Run "ingester task migrate" with a user that may create tables.`,
      { retry: 'yes' },
    );
  }
}

/** The user may log in but may not run this statement. */
export class StoragePermissionError extends CodedError {
  constructor(what: string) {
    super('STORAGE_PERMISSION', `MySQL refused a statement: ${what}. Grant the missing right to mysql.user.`, {
      retry: 'yes',
    });
  }
}

/** Deadlock or lock timeout that outlived the retries inside the adapter. */
export class StorageContentionError extends CodedError {
  constructor(what: string, cause: unknown) {
    super('STORAGE_CONTENTION', `Another transaction was in the way: ${what}.`, { retry: 'yes', cause });
  }
}

/** The server will never accept this row. Other objects are not affected. */
export class RowRefusedError extends CodedError {
  constructor(what: string) {
    super('ROW_REFUSED', `MySQL refused the row: ${what}. The object stays in the cluster and keeps its finalizer.`);
  }
}

/** What was read back is not what was written; the object must not leave etcd. */
export class RowMismatchError extends CodedError {
  constructor(what: string) {
    super('ROW_MISMATCH', `The stored row differs from the object: ${what}. The object is not evicted.`, {
      retry: 'yes',
    });
  }
}

/** An error of the server that this program does not know. Treated as retriable: dropping work is never an option. */
export class StorageFailureError extends CodedError {
  constructor(what: string, cause: unknown) {
    super('STORAGE_FAILURE', `MySQL reported an unexpected error: ${what}.`, { retry: 'yes', cause });
  }
}

/** A query on something that has no index. Ignoring it would give wrong answers, and scanning would stop the server. */
export class QueryUnsupportedError extends CodedError {
  constructor(what: string, supported: readonly string[]) {
    const list = supported.length === 0 ? '' : ` Supported are: ${supported.join(', ')}.`;
    super('STORAGE_QUERY_UNSUPPORTED', `The query is not supported: ${what}.${list}`);
  }
}

/** The continue token is damaged or belongs to another query. */
export class ContinueInvalidError extends CodedError {
  constructor() {
    super('STORAGE_CONTINUE_INVALID', 'The continue token does not belong to this query. List again without it.');
  }
}

/** Nobody writes now: a migration or another exclusive task runs. */
export class GateClosedError extends CodedError {
  constructor(holder: string) {
    super('STORAGE_GATE_CLOSED', `Writing is closed by ${holder}. Work waits and is retried until it is opened.`, {
      retry: 'yes',
    });
  }
}

/** Somebody else holds the gate; two exclusive tasks never run at the same time. */
export class GateHeldError extends CodedError {
  constructor(holder: string) {
    super('STORAGE_GATE_HELD', `The gate is held by ${holder}. Wait for it to finish, then try again.`, {
      retry: 'yes',
    });
  }
}
