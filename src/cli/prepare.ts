import type { Command } from 'commander';
import { Option } from 'commander';
import { stopSignal } from '../app/signals.ts';
import { createLogger, type Logger } from '../base/logger.ts';
import { clearText } from '../config/clear-text.ts';
import { loadConfiguration } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';

export interface Prepared {
  readonly configuration: Configuration;
  /** Writes to stderr: stdout is for the result. */
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** The configuration, and a log that begins with what is unsafe about it. */
export function prepare(
  config: string | undefined,
  role: string,
  to: 'stdout' | 'stderr' = 'stderr',
): Omit<Prepared, 'signal'> {
  const configuration = loadConfiguration({ file: config, env: process.env });
  const logger = createLogger(configuration.log.level, role, to);
  for (const way of clearText(configuration)) {
    logger.warn({ ...way }, `MySQL is asked in clear text, passwords included: set ${way.key} to verify`);
  }
  return { configuration, logger };
}

/** What a command needs that a person or a hook runs. */
export function prepareCommand(program: Command, name: string): Prepared {
  const { config } = program.opts<{ readonly config?: string }>();
  const { configuration, logger } = prepare(config, name);
  return { configuration, logger, signal: stopSignal(logger) };
}

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'how to print the result').choices(['text', 'json']).default('text');
}
