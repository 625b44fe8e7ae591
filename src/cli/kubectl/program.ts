// The plugin: kubectl finds kubectl-ingester on PATH and runs it as "kubectl ingester". What asks for stored objects goes
// through the API server with the rights of the kubeconfig; audit and evict work on MySQL and the rules themselves and
// take the configuration of the reconciler.
import { Command } from 'commander';
import { addAuditCommand } from '../audit.ts';
import { addEvictCommand } from '../evict.ts';
import { addExplainCommand } from '../explain.ts';
import { addStatusCommand } from '../status.ts';
import { addCompletionCommands } from './completion.ts';
import { addDeleteCommand } from './delete.ts';
import { addDescribeCommand } from './describe.ts';
import { EXIT_CODES_HELP } from './errors.ts';
import { addGetCommand } from './get.ts';
import { addIncarnationsCommand } from './incarnations.ts';
import { addRestoreObjectCommand } from './restore.ts';
import type { GlobalFlags } from './session.ts';
import { addSummaryCommand } from './summary.ts';
import { addVersionCommand } from './version.ts';

const examples = `
Examples:
  kubectl ingester get models -n ml --source=all --order-by=-metadata.creationTimestamp
  kubectl ingester describe model m1 -n ml
  kubectl ingester history model m1 -n ml
  kubectl ingester restore model m1 -n ml --dry-run
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
  addDescribeCommand(program);
  addIncarnationsCommand(program);
  addRestoreObjectCommand(program);
  addDeleteCommand(program);
  addEvictCommand(program);
  addAuditCommand(program);
  addStatusCommand(program);
  addExplainCommand(program);
  addSummaryCommand(program);
  addVersionCommand(program);
  addCompletionCommands(program);
  for (const command of [program, ...program.commands]) addGlobalFlags(command);
  return program;
}

const globalFlags = [
  ['-n, --namespace <namespace>', "instead of that of the kubeconfig's context"],
  ['--kubeconfig <file>', 'instead of KUBECONFIG'],
  ['--context <name>', 'of the kubeconfig, instead of the current one'],
  ['-c, --config <file>', 'configuration of the reconciler, for audit and evict; INGESTER_CONFIG names it too'],
] as const;

/** Before the command and after it, as kubectl takes them. What a command has itself it keeps. */
function addGlobalFlags(command: Command): void {
  for (const [flags, description] of globalFlags) {
    const own = command.options.some(({ long }) => long !== undefined && flags.includes(`${long} `));
    if (!own && !command.name().startsWith('_')) command.option(flags, description);
  }
}

/** What was said before the command holds in it, and what was said after it is known to all. */
function mergeFlags(program: Command, command: Command): void {
  for (const key of ['namespace', 'kubeconfig', 'context', 'config'] as const) {
    const own: unknown = command.opts<GlobalFlags>()[key];
    const said =
      own ?? program.opts<GlobalFlags>()[key] ?? (key === 'config' ? process.env['INGESTER_CONFIG'] : undefined);
    if (said === undefined) continue;
    program.setOptionValue(key, said);
    if (own === undefined) command.setOptionValue(key, said);
  }
  useFlagsForSharedCommands(program.opts<GlobalFlags>());
}

/** The commands that the plugin shares read their connection from the configuration, which the environment is part of. */
function useFlagsForSharedCommands({ kubeconfig, context }: GlobalFlags): void {
  if (kubeconfig !== undefined) process.env['INGESTER_KUBERNETES_KUBECONFIG'] = kubeconfig;
  if (context !== undefined) process.env['INGESTER_KUBERNETES_CONTEXT'] = context;
}
