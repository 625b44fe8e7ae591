// A Vitess on loopback, for the tests: a keyspace with two shards and one with a single one, each with a tablet, before one
// MySQL server; etcd and a vtgate. Its servers can be killed and started again.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { CodedError } from '../../../src/base/errors.ts';
import { findBinaries } from '../binaries.ts';
import { findDatabasePrograms } from '../database-programs.ts';
import type { DatabaseServer } from '../database-server.ts';
import { freePort } from '../free-port.ts';
import { findGoPrograms } from '../go-program.ts';
import { startLocalDatabase } from '../local-database.ts';
import { onlyOnce } from '../only-once.ts';
import type { Preparation } from '../preparation.ts';
import { progressOnStderr } from '../progress.ts';
import { type Reaper, startReaper } from '../reaper.ts';
import { runCommand } from '../run-command.ts';
import { ServerProcess } from '../server-process.ts';
import { waitUntil } from '../wait-until.ts';
import { vitessPrograms } from './programs.ts';

const host = '127.0.0.1';
const root = join(import.meta.dirname, '../../..');
const cell = 'zone1';
const STARTING_MS = 60_000;

export const SHARDED = 'michelangelo';
const UNSHARDED = 'michelangelo_global';

interface Shard {
  readonly keyspace: string;
  readonly range: string;
  readonly database: string;
}

const shards: readonly Shard[] = [
  { keyspace: SHARDED, range: '-80', database: 'vt_first' },
  { keyspace: SHARDED, range: '80-', database: 'vt_second' },
  { keyspace: UNSHARDED, range: '-', database: 'vt_global' },
];

export interface VitessCluster {
  /** Of the vtgate. Any user gets in. */
  readonly host: string;
  readonly port: number;
  /** The MySQL behind it, and the databases of its shards: of two, and of the keyspace without. */
  readonly mysql: DatabaseServer;
  readonly databases: { readonly shards: readonly string[]; readonly unsharded: string };
  readonly vtgate: ServerProcess;
  /** In the order of `databases`, the unsharded one last. */
  readonly tablets: readonly ServerProcess[];
  /** Runs a command of vtctldclient and answers its output. */
  readonly control: (...args: readonly string[]) => Promise<string>;
  /** Adds an empty shard to the sharded keyspace, such as `-40`, with a tablet of its own. */
  readonly addShard: (range: string, database: string) => Promise<void>;
  dispose(): Promise<void>;
}

export interface VitessOptions {
  /** Seconds after which a tablet ends a transaction; 30 unless given. */
  readonly transactionSeconds?: number;
  readonly preparation?: Preparation;
}

export async function startVitess(options: VitessOptions = {}): Promise<VitessCluster> {
  const { preparation = { env: process.env, progress: progressOnStderr, signal: undefined } } = options;
  const programs = await findGoPrograms(vitessPrograms, preparation);
  if (programs === undefined)
    throw new CodedError('LOCAL_BUILD_FAILED', 'Vitess is built with Go, which is not there.');
  const etcd = join(await findBinaries(preparation), 'etcd');
  const directory = mkdtempSync(join(tmpdir(), 'vitess-'));
  const reaper = startReaper(directory);
  const started: { stop(): Promise<void> }[] = [];
  const dispose = onlyOnce(async () => {
    for (const server of started.toReversed()) await server.stop();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    await reaper.dismiss();
  });
  const place: Place = { programs, directory, reaper, started, preparation };
  try {
    return { ...(await start(place, etcd, options)), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

interface Place {
  readonly programs: string;
  readonly directory: string;
  readonly reaper: Reaper;
  readonly started: { stop(): Promise<void> }[];
  readonly preparation: Preparation;
}

async function start(
  place: Place,
  etcd: string,
  { transactionSeconds = 30 }: VitessOptions,
): Promise<Omit<VitessCluster, 'dispose'>> {
  const mysql = await startMysql(place);
  const topology = await startTopology(place, etcd);
  const control = controlOf(place, await startVtctld(place, topology));
  await control('AddCellInfo', '--root', `/vitess/${cell}`, '--server-address', topology.address, cell);
  await control('CreateKeyspace', '--durability-policy=none', SHARDED);
  await control('CreateKeyspace', '--durability-policy=none', '--sidecar-db-name', '_vt_global', UNSHARDED);
  const tablets: ServerProcess[] = [];
  const addTablet = async (shard: Shard): Promise<string> => {
    const index = tablets.length;
    tablets.push(await startTablet(place, { topology, mysql, shard, index, transactionSeconds }));
    return `${cell}-${index + 1}`;
  };
  const names: string[] = [];
  for (const shard of shards) names.push(await addTablet(shard));
  for (const name of names) await untilDone(control, 'TabletExternallyReparented', name);
  const shipped = join(root, 'schema/vitess');
  for (const keyspace of [SHARDED, UNSHARDED])
    await untilDone(control, 'ApplyVSchema', '--vschema-file', join(shipped, `${keyspace}.vschema.json`), keyspace);
  await untilDone(control, 'ApplyRoutingRules', '--rules-file', join(shipped, 'routing-rules.json'));
  const { vtgate, port } = await startVtgate(place, topology);
  const [first = '', second = '', unsharded = ''] = shards.map(({ database }) => database);
  const addShard = async (range: string, database: string): Promise<void> => {
    const shard = { keyspace: SHARDED, range, database };
    await createDatabases(mysql, [shard]);
    await untilDone(control, 'TabletExternallyReparented', await addTablet(shard));
  };
  return { host, port, mysql, databases: { shards: [first, second], unsharded }, vtgate, tablets, control, addShard };
}

async function startMysql({ started, directory, preparation }: Place): Promise<DatabaseServer> {
  const programs = await findDatabasePrograms('mysql', preparation);
  const settings = { 'gtid-mode': 'ON', 'enforce-gtid-consistency': 'ON' };
  const place = { parentDirectory: directory, authority: undefined, settings };
  const mysql = await startLocalDatabase(programs, place, preparation);
  started.push({ stop: () => mysql.dispose() });
  await createDatabases(mysql, shards);
  return mysql;
}

async function createDatabases(
  { port, rootUser: user, rootPassword: password }: DatabaseServer,
  of: readonly Shard[],
): Promise<void> {
  const connection = await createConnection({ host, port, user, password });
  for (const { database } of of) await connection.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4`);
  await connection.end();
}

interface Topology {
  readonly address: string;
  readonly flags: readonly string[];
}

async function startTopology(place: Place, command: string): Promise<Topology> {
  const [client, peer] = [await freePort(), await freePort()];
  const url = `http://${host}:${client}`;
  const peerUrl = `http://${host}:${peer}`;
  const args = [
    '--name=local',
    `--data-dir=${join(place.directory, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=local=${peerUrl}`,
    '--log-level=warn',
    '--unsafe-no-fsync',
  ];
  await run(place, { name: 'etcd', command, args, ready: () => isOk(`${url}/readyz`) });
  const address = `${host}:${client}`;
  const flags = [
    '--topo-implementation=etcd2',
    `--topo-global-server-address=${address}`,
    '--topo-global-root=/vitess/global',
  ];
  return { address, flags };
}

type Control = VitessCluster['control'];

/** Answers its address. */
async function startVtctld(place: Place, topology: Topology): Promise<string> {
  const [web, grpc] = [await freePort(), await freePort()];
  const args = [
    ...topology.flags,
    `--cell=${cell}`,
    `--port=${web}`,
    `--grpc-port=${grpc}`,
    `--bind-address=${host}`,
    `--grpc-bind-address=${host}`,
    '--service-map=grpc-vtctl,grpc-vtctld',
  ];
  const ready = (): Promise<boolean> => answers(`http://${host}:${web}/debug/status`);
  await runVitess(place, { name: 'vtctld', program: 'vtctld', args, ready });
  return `${host}:${grpc}`;
}

function controlOf({ programs, directory, reaper, preparation }: Place, server: string): Control {
  return async (...args) => {
    const command = [...unprivileged(), join(programs, 'vtctldclient'), `--server=${server}`, ...args];
    const [program = '', ...rest] = command;
    const options = { cwd: directory, reaper, signal: preparation.signal };
    const { code, stdout, stderr } = await runCommand(program, rest, options);
    if (code !== 0) throw new CodedError('LOCAL_SERVER_START', `vtctldclient ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
}

/** A tablet is in the topology before it answers. */
async function untilDone(control: Control, ...args: readonly string[]): Promise<void> {
  let last: unknown;
  const tried = async (): Promise<boolean> => {
    try {
      await control(...args);
      return true;
    } catch (error) {
      last = error;
      return false;
    }
  };
  if (!(await waitUntil(tried, { timeoutMs: STARTING_MS }))) throw last;
}

interface Tablet {
  readonly topology: Topology;
  readonly mysql: DatabaseServer;
  readonly shard: Shard;
  readonly index: number;
  readonly transactionSeconds: number;
}

async function startTablet(place: Place, tablet: Tablet): Promise<ServerProcess> {
  const { topology, mysql, shard, index, transactionSeconds } = tablet;
  const [port, grpc] = [await freePort(), await freePort()];
  const users = ['app', 'dba', 'repl', 'filtered', 'allprivs', 'appdebug'].flatMap((role) => [
    `--db-${role}-user=${mysql.rootUser}`,
    `--db-${role}-password=${mysql.rootPassword}`,
  ]);
  const args = [
    ...topology.flags,
    `--tablet-path=${cell}-${index + 1}`,
    `--tablet-hostname=${host}`,
    `--init-keyspace=${shard.keyspace}`,
    `--init-shard=${shard.range}`,
    '--init-tablet-type=replica',
    `--init-db-name-override=${shard.database}`,
    `--db-host=${host}`,
    `--db-port=${mysql.port}`,
    ...users,
    '--unmanaged',
    `--port=${port}`,
    `--grpc-port=${grpc}`,
    `--bind-address=${host}`,
    `--grpc-bind-address=${host}`,
    '--service-map=grpc-queryservice,grpc-tabletmanager,grpc-updatestream',
    `--queryserver-config-transaction-timeout=${transactionSeconds}s`,
    '--migration-check-interval=2s',
  ];
  const ready = (): Promise<boolean> => answers(`http://${host}:${port}/debug/status`);
  return runVitess(place, { name: `vttablet-${index + 1}`, program: 'vttablet', args, ready });
}

async function startVtgate(
  place: Place,
  topology: Topology,
): Promise<{ readonly vtgate: ServerProcess; readonly port: number }> {
  const [web, grpc, port] = [await freePort(), await freePort(), await freePort()];
  const args = [
    ...topology.flags,
    `--cell=${cell}`,
    `--cells-to-watch=${cell}`,
    '--tablet-types-to-wait=PRIMARY',
    `--port=${web}`,
    `--grpc-port=${grpc}`,
    `--bind-address=${host}`,
    `--grpc-bind-address=${host}`,
    `--mysql-server-port=${port}`,
    `--mysql-server-bind-address=${host}`,
    '--mysql-auth-server-impl=none',
    '--service-map=grpc-vtgateservice',
  ];
  const ready = (): Promise<boolean> => answersSql(port);
  return { vtgate: await runVitess(place, { name: 'vtgate', program: 'vtgate', args, ready }), port };
}

interface Plan {
  readonly name: string;
  readonly args: readonly string[];
  readonly ready: () => Promise<boolean>;
}

/** They refuse to run as root; where we are root, they run in a name space of users that has none. */
function unprivileged(): readonly string[] {
  return process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=65534', '--map-group=65534'] : [];
}

function runVitess(place: Place, { program, ...plan }: Plan & { readonly program: string }): Promise<ServerProcess> {
  const [command = '', ...args] = [...unprivileged(), join(place.programs, program), ...plan.args];
  return run(place, { ...plan, command, args });
}

async function run(place: Place, plan: Plan & { readonly command: string }): Promise<ServerProcess> {
  const { directory, reaper, started, preparation } = place;
  const env = { PATH: process.env['PATH'], HOME: directory, VTDATAROOT: directory, TZ: 'UTC' };
  const logFile = join(directory, `${plan.name}.log`);
  const server = new ServerProcess({ ...plan, directory, env, logFile, reaper, stopTimeoutMs: 1000 });
  await server.start(preparation.signal);
  started.push(server);
  return server;
}

async function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2000) }).then(
    () => true,
    () => false,
  );
}

async function isOk(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function answersSql(port: number): Promise<boolean> {
  try {
    const connection = await createConnection({ host, port, user: 'probe', database: SHARDED, connectTimeout: 2000 });
    await connection.end();
    return true;
  } catch {
    return false;
  }
}
