/** What runs here instead of a container image. */
export interface LocalImage {
  /** Regular expression over the whole reference, such as `(.*\/)?mysql(:.*)?`. */
  readonly match: string;
  /** The command line where a container names no command of its own. */
  readonly entrypoint: readonly string[];
  /** Folders with programs, searched before the machine's own. */
  readonly path: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export function findImage(table: readonly LocalImage[], reference: string): LocalImage | undefined {
  return table.find(({ match }) => new RegExp(`^(?:${match})$`).test(reference));
}

/** Command and args of a container override entrypoint and arguments of its image as Docker images have it. */
export function commandLine(
  image: LocalImage,
  container: { readonly command?: readonly string[]; readonly args?: readonly string[] },
): readonly string[] {
  return [...(container.command ?? image.entrypoint), ...(container.args ?? [])];
}
