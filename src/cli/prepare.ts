import type { Command } from 'commander';
import { Option } from 'commander';
import { stopSignal } from '../app/signals.ts';
import { createLogger, type Logger } from '../base/logger.ts';
import { loadConfiguration } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';

export interface Prepared {
  readonly configuration: Configuration;
  /** Writes to stderr: stdout is for the result. */
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** What a command needs that a person or a hook runs. */
export function prepareCommand(program: Command, name: string): Prepared {
  const { config } = program.opts<{ readonly config?: string }>();
  const configuration = loadConfiguration({ file: config, env: process.env });
  const logger = createLogger(configuration.log.level, name, 'stderr');
  return { configuration, logger, signal: stopSignal(logger) };
}

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'how to print the result').choices(['text', 'json']).default('text');
}
