import type { EventQueue } from '../../../src/runtime/handler.ts';
import type { AddOptions } from '../../../src/runtime/work-queue.ts';

/** Keeps what handlers add. */
export class RecordingQueue implements EventQueue {
  readonly added: (readonly [string, AddOptions])[] = [];

  add(key: string, options: AddOptions = {}): void {
    this.added.push([key, options]);
  }

  /** What was added since the last call. */
  take(): readonly (readonly [string, AddOptions])[] {
    return this.added.splice(0);
  }
}
