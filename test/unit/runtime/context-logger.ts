import type { LogFields, Logger } from '../../../src/base/logger.ts';

interface Line extends LogFields {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
}

/** Keeps what is logged together with the fields that child loggers add. */
export class ContextLogger implements Logger {
  readonly lines: Line[];
  readonly #fields: LogFields;

  constructor(lines: Line[] = [], fields: LogFields = {}) {
    this.lines = lines;
    this.#fields = fields;
  }

  debug(fields: LogFields, message: string): void {
    this.#log('debug', fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.#log('info', fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#log('warn', fields, message);
  }

  error(fields: LogFields, message: string): void {
    this.#log('error', fields, message);
  }

  child(fields: LogFields): Logger {
    return new ContextLogger(this.lines, { ...this.#fields, ...fields });
  }

  /** Level and message of what an operator sees. */
  shown(): readonly (readonly [string, string])[] {
    return this.lines.filter(({ level }) => level !== 'debug').map(({ level, message }) => [level, message]);
  }

  #log(level: Line['level'], fields: LogFields, message: string): void {
    this.lines.push({ ...this.#fields, ...fields, level, message });
  }
}
