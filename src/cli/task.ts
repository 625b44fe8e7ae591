// What every task promises its caller, a user or a Job: progress on stderr, the report on stdout, and as its last
// line one JSON object; the exit code says the kind of failure, and the termination message says which.
import { existsSync, writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { stopSignal } from '../app/signals.ts';
import { CodedError, messageOf } from '../base/errors.ts';
import { redact } from '../base/redact.ts';
import type { TaskConfiguration } from '../config/schema.ts';
import { TaskStoppedError } from '../storage/errors.ts';
import { outputOption, prepareTask } from './prepare.ts';
import { note, printRaw, printText } from './print.ts';

export interface TaskFlags {
  readonly output: 'text' | 'json';
  readonly attempt?: string;
  readonly gateHolder?: string;
}

export interface TaskContext {
  readonly configuration: TaskConfiguration;
  readonly signal: AbortSignal;
  /** One progress line for the user. */
  readonly progress: (line: string) => void;
}

export interface TaskReport {
  /** One word: what became of the task. */
  readonly outcome: string;
  readonly figures: object;
  /** The same as text for a user. */
  readonly text: string;
  /** `json` only for text that other programs read as it is. */
  readonly resultLine?: 'always' | 'json';
}

const ATTEMPT = /^[\w.:/-]{1,253}$/;

export function taskCommand(parent: Command, name: string): Command {
  return parent
    .command(name)
    .option(
      '--attempt <id>',
      'which attempt this is; a newer one (a higher number at the end of the id) stops it',
      attemptOption,
    )
    .option('--gate-holder <name>', 'holder that has closed the writer gate for this task, and will open it again')
    .addOption(outputOption());
}

function attemptOption(text: string): string {
  if (!ATTEMPT.test(text)) throw new InvalidArgumentError('expected up to 253 letters, digits and the signs . : / _ -');
  return text;
}

/** Ends with the result line; an error is reported in it too, then thrown on. */
export async function runTask(
  command: Command,
  { output }: TaskFlags,
  work: (context: TaskContext) => Promise<TaskReport>,
): Promise<void> {
  const task = command.name();
  let signal: AbortSignal | undefined;
  try {
    const { config } = command.optsWithGlobals<{ readonly config?: string }>();
    const { configuration, logger } = prepareTask(config, task);
    signal = stopSignal(logger);
    const progress = (line: string): void => note(`${line}\n`);
    const { outcome, figures, text, resultLine = 'always' } = await work({ configuration, signal, progress });
    const line = JSON.stringify({ task, outcome, ...figures });
    if (output === 'text') printText(`${text}\n`);
    if (output === 'json' || resultLine === 'always') printRaw(`${line}\n`);
    leaveTerminationMessage(line);
  } catch (thrown) {
    const stopped = signal?.aborted === true && !(thrown instanceof CodedError);
    const error = stopped ? new TaskStoppedError(task) : thrown;
    printRaw(`${JSON.stringify({ task, outcome: 'failed', ...failureOf(error) })}\n`);
    throw error;
  }
}

function failureOf(error: unknown): object {
  const message = redact(messageOf(error));
  if (!(error instanceof CodedError)) return { message, retry: 'no' };
  return { code: error.code, message, retry: error.retry };
}

/** The text of an error as the process may show it. */
export function failureText(error: unknown): string {
  const code = error instanceof CodedError ? ` [${error.code}]` : '';
  return redact(`${messageOf(error)}${code}`);
}

/** The kubelet shows no more than this. */
const TERMINATION_BYTES = 4096;
const TERMINATION_LOG = '/dev/termination-log';

/** Where Kubernetes looks for why a container ended. The file is there already in a pod, and nowhere else. */
export function leaveTerminationMessage(text: string): void {
  const { TERMINATION_LOG: named } = process.env;
  const file = named ?? (existsSync(TERMINATION_LOG) ? TERMINATION_LOG : undefined);
  if (file === undefined) return;
  try {
    writeFileSync(file, new TextDecoder().decode(Buffer.from(text).subarray(0, TERMINATION_BYTES), { stream: true }));
  } catch (error) {
    note(`The termination message could not be written: ${messageOf(error)}\n`);
  }
}
