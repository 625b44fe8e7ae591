// The command line. Each role is imported when it is chosen: the webhook must not load the database driver or the
// Kubernetes client.
import { Command, Option } from 'commander';
import { stopSignal } from '../app/signals.ts';
import { createLogger, type Logger } from '../base/logger.ts';
import { loadConfiguration } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';

interface CommonOptions {
  readonly config?: string;
}

export function createProgram(): Command {
  const program = new Command('ingester')
    .description("Keeps Michelangelo's Kubernetes metadata in MySQL.")
    .option('-c, --config <file>', 'YAML configuration file', process.env['INGESTER_CONFIG'])
    .addHelpText(
      'after',
      '\nEvery key of the file can be set in the environment too, e.g. INGESTER_MYSQL_HOST for mysql.host.\n' +
        'Exit codes: 0 success, 1 failure, 2 the configuration or the command line is wrong.',
    );
  program
    .command('webhook')
    .description('serve admission over HTTPS: every object is created with the finalizer')
    .action(() => runWebhookCommand(program.opts()));
  program
    .command('reconciler')
    .description('copy objects into MySQL, delete and evict them')
    .action(() => runReconcilerCommand(program.opts()));
  const task = program.command('task').description('one-off work that is safe to run again');
  task
    .command('migrate')
    .description("bring the database to this version's schema; needs a user that may create tables")
    .addOption(new Option('-o, --output <format>', 'how to print the result').choices(['text', 'json']).default('text'))
    .action((options: { readonly output: string }) => runMigrateCommand(program.opts(), options.output));
  return program;
}

function prepare(options: CommonOptions, role: string): { configuration: Configuration; logger: Logger } {
  const configuration = loadConfiguration({ file: options.config, env: process.env });
  return { configuration, logger: createLogger(configuration.log.level, role) };
}

async function runWebhookCommand(options: CommonOptions): Promise<void> {
  const { runWebhook } = await import('../app/webhook.ts');
  const { configuration, logger } = prepare(options, 'webhook');
  await runWebhook(configuration, logger, stopSignal(logger));
}

async function runReconcilerCommand(options: CommonOptions): Promise<void> {
  const { runReconciler } = await import('../app/reconciler.ts');
  const { configuration, logger } = prepare(options, 'reconciler');
  await runReconciler(configuration, logger, stopSignal(logger));
}

async function runMigrateCommand(options: CommonOptions, output: string): Promise<void> {
  const { runMigrate } = await import('../app/migrate.ts');
  const { configuration } = prepare(options, 'migrate');
  const applied = await runMigrate(configuration);
  if (output === 'json') process.stdout.write(`${JSON.stringify({ applied })}\n`);
  else process.stdout.write(applied.length === 0 ? 'The schema is up to date.\n' : `Applied: ${applied.join(', ')}\n`);
}
