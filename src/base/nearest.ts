/** The candidate that the fewest edits of single characters turn the text into; the first one of several. */
export function nearest(text: string, candidates: readonly string[]): string {
  const [first = ''] = candidates;
  return candidates.reduce((best, each) => (edits(text, each) < edits(text, best) ? each : best), first);
}

/** Levenshtein's distance, row by row. */
export function edits(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of Array.from(from).entries()) {
    const current = [row + 1];
    for (const [column, other] of Array.from(to).entries()) {
      const replaced = (above[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(replaced, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    above = current;
  }
  return above.at(-1) ?? 0;
}
