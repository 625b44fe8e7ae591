import { storageEnabled } from '../../config/feature-switches.ts';
import { ConfigurationError } from '../../config/load.ts';
import type { TaskConfiguration } from '../../config/schema.ts';
import type { Keyring } from '../../storage/keyring.ts';
import { addCredentials, type Credentials, endCredentials } from '../../storage/mysql/tasks/credentials.ts';
import { attemptOf, exclusively } from '../../storage/mysql/tasks/exclusive-task.ts';
import { type RotationReport, rotateRows } from '../../storage/mysql/tasks/rotate.ts';
import { resealRow } from '../../sync/reseal.ts';
import { kindsOf } from '../kinds.ts';
import { mysqlOptions, readSecret } from '../mysql-options.ts';
import { keyring } from '../sensitive.ts';
import type { TaskRun } from './task-run.ts';

export interface RotateReport extends RotationReport {
  /**
   * `added`: new credentials are valid beside the old ones; `present`: they were before; `ended`: the old ones are not
   * valid any more; `absent`: they were not before; `none`: none are configured.
   */
  readonly credentials: 'added' | 'present' | 'ended' | 'absent' | 'none';
}

/** Adds the new credentials and seals every sensitive value with the current key. Safe to run again. */
export async function runRotate(configuration: TaskConfiguration, run: TaskRun): Promise<RotateReport> {
  const keys = keyring(configuration);
  const { rotation } = configuration;
  if (!storageEnabled(configuration) || (keys === undefined && rotation.passwordFile === '')) {
    throw new ConfigurationError('there is nothing to rotate', [
      { path: 'encryption.keyFile', message: 'set it to the file of the new key, and metadata storage to enabled' },
      { path: 'rotation.passwordFile', message: 'or set it to the file of the new password' },
    ]);
  }
  const access = mysqlOptions(configuration);
  const task = { access, ...attemptOf('rotate', run.attempt), tables: 'require' } as const;
  const { result } = await exclusively(task, async ({ pass }): Promise<RotateReport> => {
    const credentials = rotation.passwordFile === '' ? 'none' : await add(configuration);
    if (credentials !== 'none') run.progress(`credentials: ${credentials}, both old and new are valid`);
    const rows = keys === undefined ? { rows: 0, changed: 0 } : await reseal(configuration, keys, { run, pass });
    return { credentials, ...rows };
  });
  return result;
}

type Pass = NonNullable<Parameters<typeof rotateRows>[0]['pass']>;

function reseal(
  configuration: TaskConfiguration,
  keys: Keyring,
  { run, pass }: { readonly run: TaskRun; readonly pass: Pass },
): Promise<RotationReport> {
  return rotateRows({
    ...run,
    pass,
    mysql: mysqlOptions(configuration),
    kinds: kindsOf(configuration),
    keyId: keys.keyId,
    reseal: (kind, row) => resealRow(kind, row, keys),
  });
}

function add(configuration: TaskConfiguration): Promise<'added' | 'present'> {
  const { rotation } = configuration;
  const access = mysqlOptions(configuration);
  const user = rotation.user === '' ? access.user : rotation.user;
  const next = { user, password: readSecret('rotation.passwordFile', rotation.passwordFile) };
  return addCredentials({ access, next, admin: adminOf(configuration) });
}

/** Ends the credentials before; the configuration has the new ones by now. */
export async function finishRotation(configuration: TaskConfiguration, run: TaskRun): Promise<RotateReport> {
  const { rotation, mysql } = configuration;
  const access = mysqlOptions(configuration);
  if (rotation.passwordFile !== '') {
    const next = readSecret('rotation.passwordFile', rotation.passwordFile);
    const inUse = rotation.user === '' || rotation.user === mysql.user;
    if (!inUse || next !== mysql.password) {
      throw new ConfigurationError('the old credentials are in use', [
        { path: 'mysql.passwordFile', message: 'give every program the new user and password first, this task too' },
      ]);
    }
  }
  const task = { access, ...attemptOf('rotate', run.attempt), tables: 'require' } as const;
  const { result } = await exclusively(task, async (): Promise<RotateReport> => {
    const previousUser = rotation.previousUser === '' ? access.user : rotation.previousUser;
    const credentials = await endCredentials({ access, previousUser, admin: adminOf(configuration) });
    return { credentials, rows: 0, changed: 0 };
  });
  return result;
}

function adminOf({ rotation, mysql }: TaskConfiguration): Credentials {
  if (rotation.adminUser === '') return { user: mysql.user, password: mysql.password };
  return {
    user: rotation.adminUser,
    password: readSecret('rotation.adminPasswordFile', rotation.adminPasswordFile),
  };
}
