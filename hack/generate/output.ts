/** A generated file: path from the root of the repository, and its whole text. */
export interface Output {
  readonly path: string;
  readonly content: string;
}

export function generatedNotice(comment: string, source: string): string {
  return `${comment} Generated from ${source} by "npm run generate". Do not edit.\n`;
}
