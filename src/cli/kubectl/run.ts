import { CommanderError } from 'commander';
import { messageOf } from '../../base/errors.ts';
import { note } from '../print.ts';
import { pluginExitCode } from './errors.ts';
import { createPluginProgram } from './program.ts';

/** Runs one command; gives the exit code. */
export async function runPlugin(argv: readonly string[]): Promise<number> {
  try {
    await createPluginProgram().parseAsync(argv);
    return 0;
  } catch (error) {
    // Commander has printed its own by now.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    note(`error: ${messageOf(error)}\n`);
    return pluginExitCode(error);
  }
}
