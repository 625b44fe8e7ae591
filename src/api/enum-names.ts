/** What all names of an enum begin with, up to and with an underscore: `PIPELINE_RUN_STATE_`. */
export function commonPrefix(names: readonly string[]): string {
  const [first = '', ...others] = names;
  let end = first.lastIndexOf('_') + 1;
  while (!others.every((one) => one.startsWith(first.slice(0, end)))) end = first.lastIndexOf('_', end - 2) + 1;
  return first.slice(0, end);
}

/** The names without what they begin with, for messages; `leftOut` is not among them. */
export function shortNames(names: readonly string[], leftOut?: string): string {
  const { length } = commonPrefix(names);
  const shown = names.filter((name) => name !== leftOut);
  return shown.map((name) => name.slice(length)).join(', ');
}
