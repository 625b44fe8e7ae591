import type { Command } from 'commander';
import { stopSignal } from '../app/signals.ts';
import { prepare } from './prepare.ts';
import { durationOption } from './print.ts';

interface Flags {
  readonly title: string;
  readonly message: string;
  readonly retryAfter: number;
}

export function addMaintenanceCommand(program: Command): void {
  program
    .command('maintenance')
    .description('stand in for the query API: 503 for every request, with a page for browsers')
    .option('--title <text>', 'headline of the page', 'Under maintenance')
    .option(
      '--message <text>',
      'text of the page and of the answers to API clients',
      'The stored objects are being migrated. Nothing is lost, and reading works again soon.',
    )
    .addOption(
      durationOption(
        '--retry-after <duration>',
        'Retry-After of the answers, in whole seconds; kubectl retries ten times before it gives up',
        '2s',
      ),
    )
    .action(async ({ title, message, retryAfter }: Flags) => {
      const { runMaintenance } = await import('../app/query/maintenance.ts');
      const { config } = program.opts<{ readonly config?: string }>();
      const { configuration, logger } = prepare(config, 'maintenance', 'stdout');
      const signal = stopSignal(logger);
      await runMaintenance(configuration, logger, { title, message, retryAfterMs: retryAfter, signal });
    });
}
