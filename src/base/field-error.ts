/** One thing that is wrong in something a person wrote, with where it is. */
export interface FieldError {
  /** Dotted path from the root of the document, e.g. `ingester.requeuePeriod`. */
  readonly path: string;
  readonly message: string;
}

export function formatFieldErrors(errors: readonly FieldError[]): string {
  return errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('\n');
}
