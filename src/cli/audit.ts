import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AuditedKind } from '../app/commands/audit.ts';
import { type Finding, type FindingName, findingNames } from '../sync/audit/audit.ts';
import type { RepairOutcome } from '../sync/audit/audit-repair.ts';
import { AuditFindingsError } from '../sync/errors.ts';
import { kindOption } from './kind.ts';
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
    .addOption(new Option('--kind <kind...>', 'only these kinds').argParser(kindOption).default([], 'all'))
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
  if (open.length > 0) throw new AuditFindingsError(open);
}

// What an audit found, as text and as JSON.

/** Objects printed of each finding of a kind; the json output has them all. */
const SHOWN = 20;

const advice: Readonly<Record<FindingName, string>> = {
  missing: 'the object is in the cluster and has no row',
  stale: 'the row is older than the object',
  ahead: 'the row is newer than the cluster: etcd was restored from a backup. --repair-restored sets the rows back',
  extra: 'the row lives, the object does not',
  unguarded: 'the object has no finalizer: a deletion could be missed',
  unreadable: 'the row cannot be read, or is not what was written',
};

const outcomes: Readonly<Record<RepairOutcome, string>> = {
  repaired: 'repaired',
  passing: 'nothing to do any more',
  'too-many': 'not repaired: too many at once; see --max-percent',
  'not-asked': 'not repaired: needs --repair-restored, or an undone uninstall',
  impossible: 'not repaired: there is no object to repair it from',
};

type Listed = Finding & { readonly outcome?: RepairOutcome };

function listed(audited: AuditedKind): readonly Listed[] {
  return audited.repaired ?? audited.findings;
}

/** Findings that are still there. */
function openFindings(audited: readonly AuditedKind[]): readonly Listed[] {
  const closed: readonly (RepairOutcome | undefined)[] = ['repaired', 'passing'];
  return audited.flatMap(listed).filter(({ outcome }) => !closed.includes(outcome));
}

function auditJson(audited: readonly AuditedKind[]): object {
  return {
    open: openFindings(audited).length,
    kinds: audited.map((one) => ({
      kind: one.kind.kind,
      skipped: one.skipped,
      objects: one.objects,
      rows: one.rows,
      findings: listed(one).map(({ finding, namespace, name, uid, detail, outcome }) => {
        return { finding, namespace, name, uid, detail, outcome };
      }),
    })),
  };
}

function auditText(audited: readonly AuditedKind[]): string {
  const lines = audited.flatMap(kindLines);
  const open = openFindings(audited).length;
  return `${[...lines, open === 0 ? 'MySQL and the cluster agree.' : `${open} findings are open.`].join('\n')}\n`;
}

function kindLines(audited: AuditedKind): readonly string[] {
  const { kind, skipped, objects, rows } = audited;
  if (skipped !== undefined) return [`${kind.kind}: not compared, its CRD is ${skipped}`];
  const all = listed(audited);
  const head = `${kind.kind}: ${objects} objects, ${rows} rows, ${all.length} findings`;
  return [head, ...findingNames.flatMap((name) => findingLines(name, all))];
}

function findingLines(name: FindingName, all: readonly Listed[]): readonly string[] {
  const found = all.filter(({ finding }) => finding === name);
  if (found.length === 0) return [];
  const shown = found.slice(0, SHOWN).map((one) => {
    const outcome = one.outcome === undefined ? '' : ` (${outcomes[one.outcome]})`;
    return `    ${one.namespace}/${one.name} ${one.uid}: ${one.detail}${outcome}`;
  });
  const more = found.length > SHOWN ? [`    and ${found.length - SHOWN} more; -o json lists all`] : [];
  return [`  ${name} ${found.length}: ${advice[name]}`, ...shown, ...more];
}
