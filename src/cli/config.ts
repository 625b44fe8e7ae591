import type { Command } from 'commander';
import { stringify } from 'yaml';
import { programVersion } from '../base/program-files.ts';
import { settingsOf } from '../config/load.ts';
import { outputOption } from './prepare.ts';
import { printResult } from './print.ts';

export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .description('check the configuration, as a pull request should, and print what it sets; no server is asked')
    .addOption(outputOption())
    .action(({ output }: { readonly output: string }) => {
      const { config: file } = program.opts<{ readonly config?: string }>();
      const settings = settingsOf({ file, env: process.env });
      printResult(output, settings, configText(settings));
    });
}

function configText(settings: object): string {
  const found = `# Valid for version ${programVersion()}.`;
  if (Object.keys(settings).length === 0) return `${found} Nothing is set: every key has its default.\n`;
  return `${found} What is not named here has its default.\n${stringify(settings)}`;
}
