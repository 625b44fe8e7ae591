// The plugin: kubectl finds kubectl-ingester on PATH and runs it as "kubectl ingester". What asks for stored objects goes
// through the API server with the rights of the kubeconfig; audit and evict work on MySQL and the rules themselves and
// take the configuration of the reconciler.
import { Command, CommanderError, Option } from 'commander';
import { messageOf } from '../../base/errors.ts';
import { programVersion } from '../../base/program-files.ts';
import { KubeError } from '../../kube/errors.ts';
import { addAuditCommand } from '../audit.ts';
import { ArgumentError } from '../errors.ts';
import { addEvictCommand } from '../evict.ts';
import { addExplainCommand } from '../explain.ts';
import { note, printResult } from '../print.ts';
import { addStatusCommand } from '../status.ts';
import { addCompletionCommands } from './completion.ts';
import { addCountCommand } from './count.ts';
import { addDeleteCommand } from './delete.ts';
import { addDescribeCommand, addIncarnationsCommand } from './describe.ts';
import { addDiffCommand } from './diff.ts';
import { EXIT_CODES_HELP, pluginExitCode } from './errors.ts';
import { collect } from './filters.ts';
import { addGetCommand, addSummaryCommand } from './get.ts';
import { addMetadataCommands } from './metadata.ts';
import { addRestoreObjectCommand } from './restore.ts';
import { type GlobalFlags, impersonatedBy, withSession } from './session.ts';
import { addStuckCommand } from './stuck.ts';
import { addTopCommand } from './top.ts';
import { addTreeCommand } from './tree.ts';

const examples = `
Examples:
  kubectl ingester get models -n ml --source=all --order-by=-metadata.creationTimestamp
  kubectl ingester get models,pipelines -n ml --created-after=7d --show-labels
  kubectl ingester count models -A --by spec.algorithm,created.day
  kubectl ingester get models -n ml --watch
  kubectl ingester describe model m1 -n ml
  kubectl ingester tree pipelinerun r1 -n ml
  kubectl ingester history model m1 -n ml
  kubectl ingester diff pipelinerun r1 r2 -n ml
  kubectl ingester restore model m1 -n ml --dry-run
  kubectl ingester restore models -n ml -l team=a --dry-run
  kubectl ingester label model m1 -n ml team=a old-
  kubectl ingester delete models -n ml -l team=a --dry-run
  kubectl ingester get pipelineruns -n ml --template=in-state --param value=PIPELINE_RUN_STATE_FAILED

`;

export function createPluginProgram(): Command {
  const program = new Command('kubectl ingester')
    .exitOverride()
    .enablePositionalOptions()
    .description('Stored Michelangelo objects: live, evicted and deleted.')
    .addHelpText('after', `${examples}${EXIT_CODES_HELP}`)
    .hook('preAction', (_program, command) => mergeFlags(program, command));
  addGetCommand(program);
  addCountCommand(program);
  addDescribeCommand(program);
  addIncarnationsCommand(program);
  addDiffCommand(program);
  addRestoreObjectCommand(program);
  addDeleteCommand(program);
  addMetadataCommands(program);
  addEvictCommand(program);
  addAuditCommand(program);
  addStatusCommand(program);
  addExplainCommand(program);
  addSummaryCommand(program);
  addStuckCommand(program);
  addTopCommand(program);
  addTreeCommand(program);
  addVersionCommand(program);
  addCompletionCommands(program);
  for (const command of [program, ...program.commands]) {
    addGlobalFlags(command);
    command.showHelpAfterError('"--help" lists what it takes.');
  }
  return program;
}

const globalFlags = [
  ['-n, --namespace <namespace>', "instead of that of the kubeconfig's context"],
  ['--kubeconfig <file>', 'instead of KUBECONFIG'],
  ['--context <name>', 'of the kubeconfig, instead of the current one'],
  ['--as <user>', 'act as this user, for what asks the query API; you need the right to impersonate'],
  ['--as-group <group>', 'and in this group; may be repeated'],
  ['--of-cluster <name>', 'what is stored of another cluster that the query API answers for; "*" lists all of them'],
  ['-c, --config <file>', 'configuration of the reconciler, for audit and evict; INGESTER_CONFIG names it too'],
] as const;

/** Before the command and after it, as kubectl takes them. A subcommand keeps a flag of its own by that name. */
function addGlobalFlags(command: Command): void {
  for (const [flags, description] of globalFlags) {
    const own = command.options.some(({ long }) => long !== undefined && flags.includes(`${long} `));
    if (own || command.name().startsWith('_')) continue;
    if (flags.startsWith('--as-group')) command.option(flags, description, collect);
    else command.option(flags, description);
  }
}

/** A global flag has one value, given before or after the subcommand; the one after it wins. */
function mergeFlags(program: Command, command: Command): void {
  for (const key of ['namespace', 'kubeconfig', 'context', 'config', 'as', 'asGroup', 'ofCluster'] as const) {
    const own: unknown = command.opts<GlobalFlags>()[key];
    const said =
      own ?? program.opts<GlobalFlags>()[key] ?? (key === 'config' ? process.env['INGESTER_CONFIG'] : undefined);
    if (said === undefined) continue;
    program.setOptionValue(key, said);
    if (own === undefined) command.setOptionValue(key, said);
  }
  const flags = program.opts<GlobalFlags>();
  const { as } = impersonatedBy(flags);
  if (ownRights.includes(command.name())) {
    const name = command.name();
    if (as !== undefined)
      throw new ArgumentError(`--as is of no use here: ${name} works with the rights of the kubeconfig`);
    if (flags.ofCluster !== undefined)
      throw new ArgumentError(`--of-cluster is of no use here: ${name} is of the cluster of the kubeconfig`);
  }
  useFlagsForSharedCommands(flags);
}

/** Commands that the plugin shares with the program; they ask more than the query API. */
const ownRights: readonly string[] = ['audit', 'evict', 'explain', 'status'];

/** The commands that the plugin shares read their connection from the configuration, which the environment is part of. */
function useFlagsForSharedCommands({ kubeconfig, context }: GlobalFlags): void {
  if (kubeconfig !== undefined) process.env['INGESTER_KUBERNETES_KUBECONFIG'] = kubeconfig;
  if (context !== undefined) process.env['INGESTER_KUBERNETES_CONTEXT'] = context;
}

interface Flags {
  readonly client: boolean;
  readonly output: string;
}

export function addVersionCommand(program: Command): void {
  program
    .command('version')
    .description('the version of this program, and of the query API')
    .option('--client', 'this program only', false)
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async ({ client, output }: Flags) => {
      const clientVersion = programVersion();
      const answer = client ? undefined : await withSession(program, ({ objects }) => serverVersion(objects));
      const document = { clientVersion, ...answer };
      printResult(output, document, versionText(document));
    });
}

interface Versions {
  readonly clientVersion: string;
  readonly serverVersion?: string;
  readonly problem?: string;
}

function versionText({ clientVersion, serverVersion: server, problem }: Versions): string {
  const lines = [`Client version: ${clientVersion}`];
  if (server !== undefined) lines.push(`Query API version: ${server}`);
  if (problem !== undefined) lines.push(`Query API version: unknown, ${problem}`);
  return `${lines.join('\n')}\n`;
}

/** The version of the plugin is shown even where the server cannot be reached. */
async function serverVersion(objects: {
  call(call: { readonly path: string }): Promise<object>;
}): Promise<Omit<Versions, 'clientVersion'>> {
  try {
    const { version } = (await objects.call({ path: '/version' })) as { readonly version?: string };
    return { serverVersion: version ?? 'unknown' };
  } catch (error) {
    return { problem: textOf(error) };
  }
}

/** What a server answered is said in its own words, as kubectl does. */
function textOf(error: unknown): string {
  return (error instanceof KubeError ? error.said : undefined) ?? messageOf(error);
}

/** Runs one command; gives the exit code. */
export async function runPlugin(argv: readonly string[]): Promise<number> {
  try {
    await createPluginProgram().parseAsync(argv);
    return 0;
  } catch (error) {
    // Commander has printed its own by now.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    note(`error: ${textOf(error)}\n`);
    return pluginExitCode(error);
  }
}
