import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AuditedKind } from '../app/commands/audit.ts';
import { kindNames } from '../kinds/kind-names.ts';
import { AuditFindingsError } from '../sync/errors.ts';
import { auditJson, auditText, openFindings } from './audit-report.ts';
import { outputOption, prepareCommand } from './prepare.ts';
import { printResult } from './print.ts';

interface Options {
  readonly kind: readonly string[];
  readonly repair: boolean;
  readonly repairRestored: boolean;
  readonly maxPercent?: number;
  readonly output: string;
}

export function addAuditCommand(program: Command): void {
  program
    .command('audit')
    .description('compare MySQL with the cluster; exit code 1 where something differs and stays so')
    .addOption(
      new Option('--kind <kind...>', 'only these kinds').choices(kindNames.map(({ kind }) => kind)).default([], 'all'),
    )
    .option('--repair', 'repair what is found', false)
    .option(
      '--repair-restored',
      'also set back rows that are newer than the cluster: after etcd was restored from a backup',
      false,
    )
    .option('--max-percent <number>', 'rows of a table that may be marked deleted at once, in percent', percentOption)
    .addOption(outputOption())
    .action((options: Options) => runAuditCommand(program, options));
}

function percentOption(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 100) throw new InvalidArgumentError('expected a whole number from 0 to 100');
  return value;
}

async function runAuditCommand(program: Command, options: Options): Promise<void> {
  const { runAudit } = await import('../app/commands/audit.ts');
  const { configuration, logger, signal } = prepareCommand(program, 'audit');
  const audited: readonly AuditedKind[] = await runAudit(configuration, {
    kinds: options.kind,
    repair: options.repair || options.repairRestored ? 'repair' : 'report',
    restored: options.repairRestored ? 'set-back' : 'keep',
    maxPercent: options.maxPercent,
    logger,
    signal,
  });
  printResult(options.output, auditJson(audited), auditText(audited));
  const open = openFindings(audited);
  if (open > 0) throw new AuditFindingsError(open);
}
