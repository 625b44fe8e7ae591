#!/usr/bin/env node
import { CommanderError } from 'commander';
import { CodedError, messageOf } from './base/errors.ts';
import { createProgram } from './cli/program.ts';

const WANTED_NODE = 24;

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof CodedError && error.code === 'CONFIGURATION_INVALID' ? 2 : 1;
}

function report(error: unknown): void {
  if (error instanceof CommanderError) return;
  const code = error instanceof CodedError ? ` [${error.code}]` : '';
  process.stderr.write(`ingester: ${messageOf(error)}${code}\n`);
}

async function main(argv: readonly string[]): Promise<number> {
  if (Number(process.versions.node.split('.')[0]) < WANTED_NODE) {
    process.stderr.write(
      `ingester needs Node ${WANTED_NODE}; this is ${process.version}. Start it with npm run ingester.\n`,
    );
    return 1;
  }
  try {
    const program = createProgram();
    program.exitOverride();
    for (const command of program.commands) command.exitOverride();
    await program.parseAsync(argv);
    return 0;
  } catch (error) {
    report(error);
    return exitCodeOf(error);
  }
}

// Everything is closed by now; a timer that the driver keeps for a lost connection must not hold the process.
process.exit(await main(process.argv));
