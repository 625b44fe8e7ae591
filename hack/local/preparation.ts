import type { Progress } from './progress.ts';
import type { Reaper } from './reaper.ts';

/** What everything that gets programs ready needs to know. */
export interface Preparation {
  readonly env: NodeJS.ProcessEnv;
  readonly progress: Progress;
  readonly signal: AbortSignal | undefined;
}

/** The same for work that leaves processes behind unless they are ended. */
export interface ReapedPreparation extends Preparation {
  readonly reaper: Reaper;
}
