import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import type { Authority } from './certificates.ts';
import type { DatabasePrograms } from './database-programs.ts';
import type { DatabaseServer } from './database-server.ts';
import { asRoot, createDataDirectory } from './database-template.ts';
import { flavours } from './flavours.ts';
import { freePort } from './free-port.ts';
import { onlyOnce } from './only-once.ts';
import type { Preparation } from './preparation.ts';
import { withElapsedTime } from './progress.ts';
import { type Reaper, startReaper } from './reaper.ts';
import { ServerProcess, ServerStartError } from './server-process.ts';

const host = '127.0.0.1';
const rootUser = 'root';
const portAttempts = 5;
const probeTimeoutMs = 2000;

interface Context {
  readonly programs: DatabasePrograms;
  readonly directory: string;
  readonly rootPassword: string;
  readonly reaper: Reaper;
  /** Arguments that name its certificate, and settings of its own. */
  readonly own: readonly string[];
}

export interface DatabasePlace {
  readonly parentDirectory: string;
  /** Signs its certificate; it has one that no client trusts, or none, unless given. */
  readonly authority: Authority | undefined;
  /** Options of the server over ours. */
  readonly settings: Readonly<Record<string, string>> | undefined;
}

export async function startLocalDatabase(
  programs: DatabasePrograms,
  { parentDirectory, authority, settings = {} }: DatabasePlace,
  preparation: Preparation,
): Promise<DatabaseServer> {
  const directory = mkdtempSync(join(parentDirectory, `${programs.flavour}-`));
  const reaper = startReaper(directory);
  let running: ServerProcess | undefined;
  const dispose = onlyOnce(async () => {
    // Its data are not read again, so there is no reason to wait for a clean shutdown.
    await running?.crash();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    await reaper.dismiss();
  });
  const start = async (): Promise<DatabaseServer> => {
    await createDataDirectory(programs, join(directory, 'data'), preparation);
    const own = [
      ...(authority === undefined ? [] : await writeCertificate(directory, authority)),
      ...Object.entries(settings).map(([option, value]) => `--${option}=${value}`),
    ];
    const context = { programs, directory, rootPassword: randomBytes(18).toString('base64url'), reaper, own };
    const { server, port } = await startOnFreePort(context, preparation.signal);
    running = server;
    return databaseServer(context, { server, port, dispose });
  };
  try {
    return await withElapsedTime(preparation.progress, () => `Starting ${programs.flavour}`, start);
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function writeCertificate(directory: string, authority: Authority): Promise<readonly string[]> {
  const { certificatePem, keyPem } = await authority.issue({ commonName: 'mysql', hosts: ['localhost'] });
  const files = { 'ssl-ca': authority.caPem, 'ssl-cert': certificatePem, 'ssl-key': keyPem };
  return Object.entries(files).map(([option, pem]) => {
    const file = join(directory, `${option}.pem`);
    writeFileSync(file, pem, { mode: 0o600 });
    return `--${option}=${file}`;
  });
}

interface Running {
  readonly server: ServerProcess;
  readonly port: number;
  readonly dispose: () => Promise<void>;
}

function databaseServer(context: Context, { server, port, dispose }: Running): DatabaseServer {
  const { programs, directory, rootPassword } = context;
  const client = writeClient(context, port);
  return {
    flavour: programs.flavour,
    version: programs.version,
    host,
    port,
    rootUser,
    rootPassword,
    external: false,
    process: server,
    directory,
    clientCommand: (database) => [client, ...(database === undefined ? [] : [database])],
    stop: () => server.stop(),
    kill: () => server.crash(),
    start: () => server.start(),
    pause: () => server.kill('SIGSTOP'),
    resume: () => server.kill('SIGCONT'),
    dispose,
  };
}

async function startOnFreePort(
  context: Context,
  signal: AbortSignal | undefined,
): Promise<{ readonly server: ServerProcess; readonly port: number }> {
  writeFirstStatements(context);
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const server = serverOn(context, port);
    try {
      await server.start(signal);
      return { server, port };
    } catch (error) {
      const stolen = error instanceof ServerStartError && error.portTaken;
      if (!stolen || attempt === portAttempts) throw error;
    }
  }
}

function serverOn({ programs, directory, rootPassword, reaper, own }: Context, port: number): ServerProcess {
  const [command = '', ...first] = programs.server;
  return new ServerProcess({
    name: programs.flavour,
    command,
    args: [
      ...first,
      '--no-defaults',
      ...programs.locations,
      ...serverArguments(directory, port),
      ...own,
      ...flavours[programs.flavour].arguments,
    ],
    directory,
    env: { PATH: process.env['PATH'], HOME: directory, LC_ALL: 'C', TZ: 'UTC' },
    logFile: join(directory, 'server.log'),
    reaper,
    ready: () => answers({ host, port, user: rootUser, password: rootPassword }),
  });
}

/** As durable as in production: what is committed survives a crash. */
function serverArguments(directory: string, port: number): string[] {
  return [
    `--datadir=${join(directory, 'data')}`,
    `--tmpdir=${join(directory, 'tmp')}`,
    `--init-file=${firstStatementsFile(directory)}`,
    // Relative to the data directory: the path of a socket may only have about a hundred characters.
    '--socket=server.sock',
    `--pid-file=${join(directory, 'server.pid')}`,
    `--bind-address=${host}`,
    `--port=${port}`,
    '--server-id=1',
    '--log-bin=binlog',
    '--sync-binlog=1',
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=128M',
    '--default-time-zone=+00:00',
    ...asRoot(),
  ];
}

/** Run by the server before it accepts connections, so that it is never reachable without a password. */
function writeFirstStatements({ directory, rootPassword }: Context): void {
  mkdirSync(join(directory, 'tmp'), { mode: 0o700 });
  const statements = [
    'SET sql_log_bin = 0;',
    `ALTER USER '${rootUser}'@'localhost' IDENTIFIED BY '${rootPassword}';`,
    '',
  ];
  writeFileSync(firstStatementsFile(directory), statements.join('\n'), { mode: 0o600 });
}

function firstStatementsFile(directory: string): string {
  return join(directory, 'first-statements.sql');
}

/** A short command in place of one with a loader, library paths and a file with the password. */
function writeClient({ programs, directory, rootPassword }: Context, port: number): string {
  const options = join(directory, 'client.cnf');
  const lines = [
    '[client]',
    `host=${host}`,
    `port=${port}`,
    'protocol=TCP',
    `user=${rootUser}`,
    `password=${rootPassword}`,
  ];
  writeFileSync(options, `${lines.join('\n')}\n`, { mode: 0o600 });
  const client = join(directory, 'client');
  const command = programs.client?.map(shellQuoted).join(' ');
  const missing = `No SQL client is installed. Connect with one to ${host}:${port} as ${rootUser}; the password is in ${options}.`;
  const action =
    command === undefined
      ? `echo ${shellQuoted(missing)} >&2\nexit 1`
      : `exec ${command} --defaults-file=${shellQuoted(options)} "$@"`;
  writeFileSync(client, `#!/bin/sh\n${action}\n`);
  chmodSync(client, 0o700);
  return client;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Another server on a stolen port refuses the password; this one then ends by itself. */
async function answers(access: { host: string; port: number; user: string; password: string }): Promise<boolean> {
  try {
    const connection = await createConnection({ ...access, connectTimeout: probeTimeoutMs });
    await connection.end();
    return true;
  } catch {
    return false;
  }
}
