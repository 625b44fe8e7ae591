import { pino } from 'pino';
import { CodedError, messageOf } from './errors.ts';
import { activeSpan, logFieldsOf } from './tracing.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Structured logs, one JSON object a line. Never log an object's body; log its key, uid and resourceVersion. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  child(fields: LogFields): Logger;
}

export interface LogFields {
  readonly err?: unknown;
  readonly [field: string]: unknown;
}

/** `stderr` for commands whose output is read by a program. */
export function createLogger(level: LogLevel, role: string, to: 'stdout' | 'stderr' = 'stdout'): Logger {
  const options = {
    level,
    base: { role },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    mixin: spanFields,
  };
  return to === 'stdout' ? pino(options) : pino(options, pino.destination({ dest: 2, sync: true }));
}

/** A new object each time: the line is made out of it. */
function spanFields(): object {
  const span = activeSpan();
  return span === undefined ? {} : logFieldsOf(span);
}

/** Errors are logged as code and message: stacks and driver fields can carry values that must not leave the process. */
function describeError(error: unknown): unknown {
  if (!(error instanceof CodedError)) return { message: messageOf(error), stack: (error as Error | undefined)?.stack };
  return {
    code: error.code,
    message: error.message,
    ...(error.cause === undefined ? {} : { cause: messageOf(error.cause) }),
  };
}
