// Names that others have, in words for people.

/** With what to do about it. */
export function takenText(taken: readonly string[]): string {
  const commands = taken.map((key) => `kubectl delete ${key.replace('/', ' ').toLowerCase()}`);
  return (
    `taken by objects that do not belong to this Ingester: ${taken.join(', ')}. Nothing is done with them, and what needs ` +
    `their names waits. Remove them (${commands.join('; ')}), or give the Ingester another name`
  );
}

/** Those without which no task runs. */
export function takenOfTasks(taken: readonly string[]): readonly string[] {
  return taken.filter((key) => key.startsWith('Job/') || key.endsWith('-tasks-config'));
}
