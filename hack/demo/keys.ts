import type { ReadStream } from 'node:tty';

/** What Ctrl-C sends while keys are read one by one. */
export const CTRL_C = '\u0003';

/**
 * Does what belongs to a key as soon as it is pressed, without Enter, until the returned function is called. Where the
 * input is no terminal there are no keys.
 */
export function onKeys(input: ReadStream, actions: ReadonlyMap<string, () => void>): () => void {
  if (!input.isTTY) return () => undefined;
  const take = (text: string): void => {
    for (const key of text) actions.get(key)?.();
  };
  input.setRawMode(true).setEncoding('utf8').on('data', take);
  return () => {
    input.off('data', take).setRawMode(false).pause();
  };
}
