import { CommanderError } from 'commander';
import { CodedError, messageOf } from '../base/errors.ts';
import { note } from './print.ts';
import { createProgram } from './program.ts';
import { failureText, leaveTerminationMessage } from './task.ts';

const WANTED_NODE = 24;

const EXIT_CODES: Readonly<Record<string, number>> = { CONFIGURATION_INVALID: 2, SCHEMA_NEWER: 3 };

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof CodedError ? (EXIT_CODES[error.code] ?? 1) : 1;
}

/** What a container is started for. Other commands may run beside it, and are not how it ends. */
const ofContainers: ReadonlySet<string> = new Set(['webhook', 'reconciler', 'query', 'maintenance', 'task']);

function report(error: unknown, command: string | undefined): void {
  if (error instanceof CommanderError && error.exitCode === 0) return;
  const isOfContainer = command !== undefined && ofContainers.has(command);
  const text = isOfContainer ? failureText(error) : plainText(error);
  // Commander has printed its own by now.
  if (!(error instanceof CommanderError)) note(`ingester: ${text}\n`);
  if (isOfContainer) leaveTerminationMessage(text);
}

function plainText(error: unknown): string {
  return `${messageOf(error)}${error instanceof CodedError ? ` [${error.code}]` : ''}`;
}

/** Argv in, exit code out. */
export async function run(argv: readonly string[]): Promise<number> {
  if (Number(process.versions.node.split('.')[0]) < WANTED_NODE) {
    note(`ingester needs Node ${WANTED_NODE}; this is ${process.version}. Start it with npm run ingester.\n`);
    return 1;
  }
  const program = createProgram();
  try {
    await program.parseAsync(argv);
    return 0;
  } catch (error) {
    const names = new Set(program.commands.map((each) => each.name()));
    report(
      error,
      argv.slice(2).find((word) => names.has(word)),
    );
    return exitCodeOf(error);
  }
}
