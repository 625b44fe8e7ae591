// The plugin runs on the Node of its user, 20 or newer; the other roles bring their own. What Node 20 lacks of what is used
// here: JSON that keeps numbers as they were written, and promises that are settled from outside. Imported before all else.
import { randomUUID } from 'node:crypto';
import workerThreads from 'node:worker_threads';
import zlib from 'node:zlib';

/** In V8 since Node 21. */
if (!('rawJSON' in JSON)) {
  const stringify = JSON.stringify;
  const mark = randomUUID();
  const marked = new RegExp(`"${mark}(-?[\\d.eE+-]+)"`, 'g');
  class RawJson {
    readonly rawJSON: string;
    constructor(text: string) {
      this.rawJSON = text;
    }
    toJSON(): string {
      return `${mark}${this.rawJSON}`;
    }
  }
  Object.assign(JSON, {
    rawJSON: (text: string) => new RawJson(text),
    isRawJSON: (value: unknown) => value instanceof RawJson,
    stringify: (...parameters: Parameters<typeof stringify>) =>
      (stringify(...parameters) as string | undefined)?.replace(marked, '$1'),
  });
}

/** Since Node 22. */
if (!('withResolvers' in Promise)) {
  const withResolvers = (): object => {
    let settle = {};
    const promise = new Promise((resolve, reject) => {
      settle = { resolve, reject };
    });
    return { promise, ...settle };
  };
  Object.assign(Promise, { withResolvers });
}

/** Since Node 22: what the HTTP client takes over when it is loaded, and does not use for what is asked here. */
addMissing(zlib, { createZstdDecompress: zlib.createUnzip });
addMissing(workerThreads, { markAsUncloneable: () => undefined });

function addMissing(module: object, functions: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(functions)) {
    if (!(name in module)) Object.assign(module, { [name]: value });
  }
}
