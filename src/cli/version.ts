import type { Command } from 'commander';
import { type ProgramIdentity, programIdentity } from '../base/program-files.ts';
import { supportedSchema } from '../storage/schema-range.ts';
import { outputOption } from './prepare.ts';
import { printResult } from './print.ts';

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
