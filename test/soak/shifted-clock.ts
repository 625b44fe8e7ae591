import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The time of day of one process, which can be set while it runs. */
export class ShiftedClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'shifted-clock-'));
  readonly #file = join(this.#folder, 'shift');

  constructor() {
    this.shift(0);
  }

  /** The environment of the process, over the one given. */
  env(env: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    const preload = pathToFileURL(join(import.meta.dirname, 'clock-preload.ts')).href;
    const options = [env['NODE_OPTIONS'] ?? process.env['NODE_OPTIONS'] ?? '', `--import ${preload}`];
    return { ...env, NODE_OPTIONS: options.join(' ').trim(), SOAK_CLOCK_FILE: this.#file };
  }

  /** How far the process is from the machine's time. */
  shift(byMs: number): void {
    writeFileSync(`${this.#file}.new`, `${byMs}`);
    renameSync(`${this.#file}.new`, this.#file);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
