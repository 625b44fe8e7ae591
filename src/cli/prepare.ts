import { isIP } from 'node:net';
import { type Command, Option } from 'commander';
import { stopSignal } from '../app/signals.ts';
import { createLogger, type Logger } from '../base/logger.ts';
import { loadConfiguration, loadTaskConfiguration } from '../config/load.ts';
import type { Configuration, TaskConfiguration } from '../config/schema.ts';

export interface Prepared<C = Configuration> {
  readonly configuration: C;
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
  return begin(loadConfiguration({ file: config, env: process.env }), role, to);
}

export function prepareTask(config: string | undefined, task: string): Omit<Prepared<TaskConfiguration>, 'signal'> {
  return begin(loadTaskConfiguration({ file: config, env: process.env }), task, 'stderr');
}

function begin<C extends Configuration>(
  configuration: C,
  role: string,
  to: 'stdout' | 'stderr',
): Omit<Prepared<C>, 'signal'> {
  const logger = createLogger(configuration.log.level, role, to);
  for (const way of clearText(configuration)) {
    logger.warn({ ...way }, `MySQL is asked in clear text, passwords included: set ${way.key} to verify`);
  }
  return { configuration, logger };
}

/** What a command needs that a user or a hook runs. */
export function prepareCommand(program: Command, name: string): Prepared {
  const { config } = program.opts<{ readonly config?: string }>();
  const { configuration, logger } = prepare(config, name);
  return { configuration, logger, signal: stopSignal(logger) };
}

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'how to print the result').choices(['text', 'json']).default('text');
}

/** Where passwords and data travel unencrypted to another machine: the key that says so, and that machine. */
export interface ClearText {
  readonly key: string;
  readonly host: string;
}

type ClearTextSettings = Configuration & Partial<Pick<TaskConfiguration, 'clone'>>;

export function clearText({ metadataStorage, mysql, clone }: ClearTextSettings): readonly ClearText[] {
  const ways = [
    ...(metadataStorage.enableMetadataStorage ? [{ key: 'mysql.tlsMode', ...mysql }] : []),
    ...(clone === undefined ? [] : [{ key: 'clone.tlsMode', ...clone }]),
  ];
  return ways
    .filter(({ tlsMode, host }) => tlsMode === 'off' && host !== '' && !isLoopback(host))
    .map(({ key, host }) => ({ key, host }));
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return /^(?:.+\.)?localhost\.?$/i.test(host);
  return host === '::1' || host.startsWith('127.') || host.startsWith('::ffff:127.');
}
