// The command line. Each role is imported when it is chosen: a webhook without a database must not load its driver.
import { Command } from 'commander';
import { stopSignal } from '../app/signals.ts';
import { type ProgramIdentity, programIdentity } from '../base/program-files.ts';
import { ConfigurationError } from '../config/load.ts';
import { supportedSchema } from '../storage/schema-range.ts';
import { addAuditCommand } from './audit.ts';
import { addCertificatesCommand } from './certificates.ts';
import { addCloneCommand } from './clone.ts';
import { addClusterCommand } from './cluster.ts';
import { addConfigCommand } from './config.ts';
import { addDrillCommand } from './drill.ts';
import { addEvictCommand } from './evict.ts';
import { addExplainCommand } from './explain.ts';
import { addGateCommand } from './gate.ts';
import { addInitCommand } from './init.ts';
import { addMaintenanceCommand } from './maintenance.ts';
import { addMigrateCommand } from './migrate.ts';
import { addPauseCommand, addResumeCommand } from './pause.ts';
import { outputOption, prepare } from './prepare.ts';
import { printResult } from './print.ts';
import { addProbeCommand } from './probe.ts';
import { addRenderCommand } from './render.ts';
import { addRestoreCommand } from './restore.ts';
import { addRotateCommand } from './rotate.ts';
import { addRestoreSnapshotCommand, addSnapshotCommand, addSnapshotsCommand } from './snapshot.ts';
import { addStatusCommand } from './status.ts';
import { addUninstallCommand } from './uninstall.ts';

interface CommonOptions {
  readonly config?: string;
}

export function createProgram(): Command {
  const program = new Command('ingester')
    .exitOverride()
    .description("Keeps Michelangelo's Kubernetes metadata in MySQL.")
    .option('-c, --config <file>', 'YAML configuration file', process.env['INGESTER_CONFIG'])
    .addHelpText(
      'after',
      '\nEvery key of the file can be set in the environment too, e.g. INGESTER_MYSQL_HOST for mysql.host.\n' +
        'Exit codes: 0 success, 1 failure, 2 the configuration or the command line is wrong, 3 the database has a schema ' +
        'that is too new for this version.',
    );
  program
    .command('webhook')
    .description('serve admission over HTTPS: every object is created with the finalizer')
    .action(() => runWebhookCommand(program.opts()));
  program
    .command('reconciler')
    .description('copy objects into MySQL, delete and evict them')
    .option(
      '--controllers <list>',
      'which parts run here: sync and audit, or lifecycle, which runs alone and needs no database',
      'sync,audit',
    )
    .action((options: { readonly controllers: string }) => runReconcilerCommand(program.opts(), options.controllers));
  addMaintenanceCommand(program);
  program
    .command('query')
    .description('serve what MySQL knows as a Kubernetes API')
    .action(() => runQueryCommand(program.opts()));
  const task = program.command('task').description('one-off work that is safe to run again');
  addCertificatesCommand(task);
  addCloneCommand(task);
  addMigrateCommand(task);
  addInitCommand(task);
  addRotateCommand(task);
  addSnapshotCommand(task);
  addRestoreSnapshotCommand(task);
  addAuditCommand(program);
  addDrillCommand(program);
  addUninstallCommand(program);
  addProbeCommand(program);
  addRenderCommand(program);
  addConfigCommand(program);
  addStatusCommand(program);
  addExplainCommand(program);
  addEvictCommand(program);
  addGateCommand(program);
  addClusterCommand(program);
  addSnapshotsCommand(program);
  addPauseCommand(program);
  addResumeCommand(program);
  addRestoreCommand(program);
  addVersionCommand(program);
  return program;
}

async function runWebhookCommand(options: CommonOptions): Promise<void> {
  const { runWebhook } = await import('../app/webhook/webhook.ts');
  const { configuration, logger } = prepare(options.config, 'webhook', 'stdout');
  await runWebhook(configuration, logger, stopSignal(logger));
}

async function runReconcilerCommand(options: CommonOptions, list: string): Promise<void> {
  const chosen = list.split(',').map((each) => each.trim());
  if (chosen.length === 1 && chosen[0] === 'lifecycle') {
    const { runLifecycle } = await import('../app/lifecycle/lifecycle.ts');
    const { configuration, logger } = prepare(options.config, 'lifecycle', 'stdout');
    await runLifecycle(configuration, logger, { signal: stopSignal(logger), podName: process.env['POD_NAME'] });
    return;
  }
  const { runReconciler, syncControllers } = await import('../app/reconciler/reconciler.ts');
  const unknown = chosen.filter((each) => !syncControllers.some((known) => known === each));
  if (unknown.length > 0) {
    const message = `"${unknown.join(', ')}": expected sync, audit, or both, or lifecycle alone`;
    throw new ConfigurationError('the command line', [{ path: '--controllers', message }]);
  }
  const { configuration, logger } = prepare(options.config, 'reconciler', 'stdout');
  const controllers = new Set(syncControllers.filter((known) => chosen.includes(known)));
  await runReconciler(configuration, logger, { signal: stopSignal(logger), controllers });
}

async function runQueryCommand(options: CommonOptions): Promise<void> {
  const { runQuery } = await import('../app/query/query.ts');
  const { configuration, logger } = prepare(options.config, 'query', 'stdout');
  await runQuery(configuration, logger, stopSignal(logger));
}

export function addVersionCommand(program: Command): void {
  program
    .command('version')
    .description('the version of this program, what it was built from, and the schema it wants')
    .addOption(outputOption())
    .action(({ output }: { readonly output: 'text' | 'json' }) => {
      const versions = { ...programIdentity(), schema: supportedSchema.version, node: process.version };
      printResult(output, versions, `${versionText(versions)}\n`);
    });
}

function versionText(versions: ProgramIdentity & { readonly schema: number; readonly node: string }): string {
  const { version, commit, schema, node } = versions;
  const built = commit === undefined ? '' : ` (commit ${commit})`;
  return `ingester ${version}${built}, schema ${schema}, Node ${node}`;
}
