/** Runs the action when the signal is aborted, at once if it is already. The returned function takes it back. */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  if (signal.aborted) action();
  else signal.addEventListener('abort', action, { once: true });
  return () => signal.removeEventListener('abort', action);
}

export function untilAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => onAbort(signal, () => resolve(undefined)));
}

/** A function, because a signal changes between two reads, which the compiler does not believe of a property. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
