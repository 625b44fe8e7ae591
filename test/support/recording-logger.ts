import type { LogFields, Logger } from '../../src/base/logger.ts';

export interface LogLine extends LogFields {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
}

/** Keeps what is logged, so that a test can look at it. */
export class RecordingLogger implements Logger {
  readonly lines: LogLine[] = [];

  debug(fields: LogFields, message: string): void {
    this.lines.push({ ...fields, level: 'debug', message });
  }

  info(fields: LogFields, message: string): void {
    this.lines.push({ ...fields, level: 'info', message });
  }

  warn(fields: LogFields, message: string): void {
    this.lines.push({ ...fields, level: 'warn', message });
  }

  error(fields: LogFields, message: string): void {
    this.lines.push({ ...fields, level: 'error', message });
  }

  child(): Logger {
    return this;
  }

  messages(): readonly string[] {
    return this.lines.map(({ message }) => message);
  }
}
