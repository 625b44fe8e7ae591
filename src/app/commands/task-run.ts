/** How a task is run; the same for all of them. */
export interface TaskRun {
  /** Which attempt this is; undefined for a run by a user. */
  readonly attempt: string | undefined;
  /** The holder that closed the writer gate for this task. */
  readonly gateHolder: string | undefined;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}
