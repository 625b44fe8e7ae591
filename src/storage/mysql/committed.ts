/** The newest transaction of each source that this program was told is committed, until they are taken. */
export class Committed {
  #newest = new Map<string, number>();

  /** `gtids`: as the server sends them with the answer to a commit. */
  note(gtids: readonly string[]): void {
    for (const gtid of gtids) {
      const at = gtid.lastIndexOf(':');
      const [source, number] = [
        gtid.slice(0, at),
        Number(
          gtid
            .slice(at + 1)
            .split('-')
            .at(-1),
        ),
      ];
      if (at > 0 && number > (this.#newest.get(source) ?? 0)) this.#newest.set(source, number);
    }
  }

  take(): string {
    const taken = [...this.#newest].map(([source, number]) => `${source}:${number}`).join(',');
    this.#newest = new Map();
    return taken;
  }
}
