import { CodedError, type FieldError, formatFieldErrors } from '../base/errors.ts';

/** The server does not answer, refuses connections, is shutting down or is read-only. Nothing is known to be written. */
export class StorageUnavailableError extends CodedError {
  constructor(what: string, cause: unknown) {
    super('STORAGE_UNAVAILABLE', `MySQL is not available: ${what}. Work waits and is retried.`, {
      retry: 'yes',
      cause,
    });
  }
}

/** One shard of several is away, or does not answer. Rows of the others can be written. */
export class ShardUnavailableError extends StorageUnavailableError {
  readonly #what: string;
  /** Its range of keyspace ids, such as `-80`. */
  readonly shard: string;
  /** Of objects on other shards that are not written without an answer of this one. */
  readonly uids: ReadonlySet<string>;

  constructor(what: string, shard: string, uids: ReadonlySet<string> = new Set()) {
    super(`${what}, from the shard ${shard}`, undefined);
    this.#what = what;
    this.shard = shard;
    this.uids = uids;
  }

  keeping(uids: Iterable<string>): ShardUnavailableError {
    return new ShardUnavailableError(this.#what, this.shard, new Set(uids));
  }
}

/** Wrong user or password, or the user may not use the database, which may be that of snapshots. */
export class StorageAccessDeniedError extends CodedError {
  constructor(what: string) {
    const [, database] = /to database '(.+)'/.exec(what) ?? [];
    const advice =
      database === undefined
        ? 'Check mysql.user and mysql.password (or mysql.passwordFile; in the bundle the keys user and password of the ' +
          'Secret ingester-mysql), and that the user was granted SELECT, INSERT, UPDATE and DELETE on mysql.database.'
        : `Grant the user the rights on the database "${database}".`;
    super('STORAGE_ACCESS_DENIED', `MySQL refused the login: ${what}. ${advice}`, { retry: 'yes' });
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

/** A foreign transaction keeps the rows of these objects locked for longer than a write waits. */
export class RowsHeldError extends StorageContentionError {
  readonly uids: ReadonlySet<string>;

  constructor(uids: ReadonlySet<string>) {
    super('it keeps the row locked', undefined);
    this.uids = uids;
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

/** Neither the server nor the way to it: this program is wrong. Other objects are not affected. */
export class StorageProgramError extends CodedError {
  constructor(what: string) {
    super('STORAGE_PROGRAM_ERROR', `The program failed while it used MySQL: ${what}.`, { retry: 'yes' });
  }
}

/** A query on something that has no index. Ignoring it would give wrong answers, and scanning would stop the server. */
export class QueryUnsupportedError extends CodedError {
  constructor(what: string, supported: readonly string[]) {
    const list = supported.length === 0 ? '' : ` Supported are: ${supported.join(', ')}.`;
    super('STORAGE_QUERY_UNSUPPORTED', `The query is not supported: ${what}.${list}`);
  }
}

/** A field was compared with what it never holds. The answer would be empty, and look like one. */
export class FieldValueError extends QueryUnsupportedError {
  constructor(field: string, value: string, expected: string) {
    super(`${field.slice(0, 100)} is never "${value.slice(0, 100)}"; it is ${expected}`, []);
  }
}

/** A selector that is not written as Kubernetes writes them. */
export class SelectorInvalidError extends CodedError {
  constructor(kind: 'label' | 'annotation' | 'field', what: string, at: number) {
    super('STORAGE_SELECTOR_INVALID', `The ${kind} selector is not valid at character ${at + 1}: ${what}.`);
  }
}

/** The client closed the request or its time was over: the read was ended, at the server too. */
export class ReadEndedError extends CodedError {
  constructor(cause: unknown) {
    super('STORAGE_READ_ENDED', 'The read was ended: nothing waits for its result any more.', { retry: 'yes', cause });
  }
}

/** The continue token is damaged or belongs to another query. */
export class ContinueInvalidError extends CodedError {
  constructor() {
    super('STORAGE_CONTINUE_INVALID', 'The continue token does not belong to this query. List again without it.');
  }
}

/** Writes are stopped: a migration or another exclusive task runs. */
export class GateClosedError extends CodedError {
  constructor(holder: string) {
    super('STORAGE_GATE_CLOSED', `Writing is closed by ${holder}. Work waits and is retried until it is opened.`, {
      retry: 'yes',
    });
  }
}

/** The gate was closed and opened again since the write was asked for: what it is to write may not be true any more. */
export class GateMovedError extends CodedError {
  constructor() {
    super(
      'STORAGE_GATE_MOVED',
      'The gate was closed and opened again meanwhile. The object is read from the API server and written anew.',
      { retry: 'yes' },
    );
  }
}

/** Another cluster's rows: to this one all of them would look deleted. */
export class OtherClusterError extends CodedError {
  constructor(owner: string, own: string) {
    super(
      'STORAGE_OTHER_CLUSTER',
      `The database belongs to the cluster whose namespace kube-system has the uid ${owner}; that of this cluster has ` +
        `${own}. Nothing is written or read. Set mysql.database to a database of this cluster; or, where its objects have moved ` +
        `here and its reconciler is stopped, run "ingester cluster take-over --from ${owner}".`,
      { retry: 'yes' },
    );
  }
}

/** An empty database in place of the one of before would look as if nothing had ever been stored. */
export class OtherDatabaseError extends CodedError {
  constructor(before: string, since: string | undefined) {
    const found = since === undefined ? 'this one belongs to no cluster yet' : `this one it has only since ${since}`;
    super(
      'STORAGE_OTHER_DATABASE',
      `This cluster stores its objects in the database that it has had since ${before}; ${found}. Nothing is written or ` +
        'read. Point mysql at that database, or restore its backup; or, where it is lost or this one is to take its place, ' +
        `run "ingester cluster change-database --from ${before}".`,
      { retry: 'yes' },
    );
  }
}

/** What a process has stored and compared so far is in another database. */
export class DatabaseChangedError extends CodedError {
  constructor() {
    super(
      'STORAGE_DATABASE_CHANGED',
      'The database is another one than before. The process ends; when it starts again it compares all objects with this one.',
    );
  }
}

/** Nothing is written to a database as long as it is unknown whose it would be. */
export class ClusterUnknownError extends CodedError {
  constructor(what: string, cause: unknown) {
    super(
      'STORAGE_CLUSTER_UNKNOWN',
      `The uid of the namespace kube-system, which names the cluster, cannot be read: ${what}. Nothing is written. It ` +
        'takes the right to get that namespace.',
      { retry: 'yes', cause },
    );
  }
}

/** The cluster or the database to be left is not the one that was named. */
export class HandoverRefusedError extends CodedError {
  constructor(found: string) {
    super('HANDOVER_REFUSED', `Nothing is changed: ${found}.`);
  }

  static cluster(from: string, owner: string | undefined): HandoverRefusedError {
    return new HandoverRefusedError(
      owner === undefined
        ? 'no cluster has written to the database yet, and the first one that does has it'
        : `the database belongs to ${owner}, not to ${from}. See "ingester cluster show"`,
    );
  }

  static database(from: string, remembered: string | undefined): HandoverRefusedError {
    return new HandoverRefusedError(
      remembered === undefined
        ? 'the cluster remembers no database, and takes the one that it finds'
        : `the cluster has the database of ${remembered}, not that of ${from}. See "ingester cluster show"`,
    );
  }
}

/** Writes that were under way did not end in time. The gate is as it was. */
export class GateBusyError extends CodedError {
  constructor(seconds: number, what: string) {
    super(
      'STORAGE_GATE_BUSY',
      `The gate could not be closed within ${seconds} s: ${what}. It is open. Find out what these transactions do, end ` +
        'them (KILL <connection>) if they hang, then close the gate again.',
      { retry: 'yes' },
    );
  }
}

/** Another holder keeps the gate closed; two exclusive tasks never run at the same time. */
export class GateHeldError extends CodedError {
  constructor(holder: string) {
    super('STORAGE_GATE_HELD', `The gate is held by ${holder}. Wait for it to finish, then try again.`, {
      retry: 'yes',
    });
  }
}

/** There is no such object, or it was deleted. */
export class ObjectMissingError extends CodedError {
  constructor(uid: string) {
    super('STORAGE_OBJECT_MISSING', `No object with uid "${uid.slice(0, 100)}" is stored, or it was deleted.`);
  }
}

/** Another client changed the object first. */
export class VersionConflictError extends CodedError {
  constructor(expected: string, stored: string) {
    super(
      'STORAGE_CONFLICT',
      `The object has resourceVersion ${stored}, not ${expected}. Read it again and repeat the change.`,
    );
  }
}

/** The change may not be made in the database, or is not valid. */
export class DirectUpdateRefusedError extends CodedError {
  constructor(what: string) {
    super('STORAGE_UPDATE_REFUSED', `The object is not changed: ${what}.`);
  }
}

/** The database was migrated to a schema that this version must not use. Only another version of the program helps. */
export class SchemaNewerError extends CodedError {
  constructor(schema: number, needed: number, own: number) {
    super(
      'SCHEMA_NEWER',
      `The database has schema ${schema}, which needs a program that knows schema ${needed}; this one knows ${own}. ` +
        'Run the newer version of the program. Schemas are never taken back.',
      { retry: 'yes' },
    );
  }
}

/** The database has not been migrated to what this version needs. */
export class SchemaOlderError extends CodedError {
  constructor(schema: number, needed: number) {
    super(
      'SCHEMA_OLDER',
      `The database has schema ${schema} and this version needs ${needed}. Run "ingester task migrate" with a user that ` +
        'may create and alter tables.',
      { retry: 'yes' },
    );
  }
}

/** Query templates that cannot mean anything, all problems at once. */
export class QueryTemplateInvalidError extends CodedError {
  readonly errors: readonly FieldError[];

  constructor(errors: readonly FieldError[]) {
    super('QUERY_TEMPLATE_INVALID', `The query templates are not valid:\n${formatFieldErrors(errors)}`);
    this.errors = errors;
  }
}

/** No such template for this kind. */
export class QueryTemplateUnknownError extends CodedError {
  constructor(id: string, known: readonly string[]) {
    const list = known.length === 0 ? 'This kind has none.' : `This kind has: ${known.join(', ')}.`;
    super('QUERY_TEMPLATE_UNKNOWN', `There is no query template "${id.slice(0, 100)}". ${list}`);
  }
}

/** The values do not fit the parameters of the template, all problems at once. */
export class QueryParametersInvalidError extends CodedError {
  readonly errors: readonly FieldError[];

  constructor(id: string, errors: readonly FieldError[]) {
    super('QUERY_PARAMETERS_INVALID', `The parameters of "${id}" are not valid:\n${formatFieldErrors(errors)}`);
    this.errors = errors;
  }
}

/** A newer attempt took over. What this one wrote before stands, and it writes nothing more. */
export class TaskSupersededError extends CodedError {
  constructor(task: string, attempt: string, current: string) {
    super(
      'TASK_SUPERSEDED',
      `Attempt ${attempt} at ${task} is out of date: ${current} took its place. Nothing more is written; end this attempt ` +
        'and look at the newer one.',
    );
  }
}

export class TaskLockedError extends CodedError {
  constructor(holder: string) {
    super(
      'TASK_LOCKED',
      `Another task is working on this database${holder}. Wait for it, then run the command again.`,
      { retry: 'yes' },
    );
  }
}

/** The caller asked the task to stop. */
export class TaskStoppedError extends CodedError {
  constructor(task: string) {
    super('TASK_STOPPED', `The task ${task} was asked to stop before it was done. Run it again: that is safe.`, {
      retry: 'yes',
    });
  }
}

/** The server is of a line that nothing here was tested with. */
export class ServerUnsupportedError extends CodedError {
  constructor(reason: string) {
    super(
      'STORAGE_SERVER_UNSUPPORTED',
      `${reason}. Upgrade the server; docs/compatibility.md says how each line is known.`,
    );
  }
}

/** The server cannot do what was asked for, at any time; something beside it can. */
export class StorageLacksError extends CodedError {
  constructor(product: string, what: string, instead: string) {
    super('STORAGE_LACKS', `${product} has no ${what}. ${instead}; see docs/vitess.md.`);
  }
}
