// Which test files run a second time: few that failed on real servers, never many, never an unknown failure.

/** Where more files fail, something is broken. */
const MOST = 2;

/** `failed` is undefined where the run failed and no file is to blame. */
export function filesToRepeat(failed: readonly string[] | undefined): readonly string[] {
  return failed === undefined || failed.length > MOST ? [] : failed;
}
