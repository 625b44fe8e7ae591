// A reporter of Node's test runner: one line for each test that failed and for each file that ended, as JSON.
import type { TestEvent } from 'node:test/reporters';

interface Line {
  readonly file: string;
  /** Of the whole file; missing for a test that failed in it. */
  readonly ms?: number;
}

export interface FileResults {
  readonly failed: ReadonlySet<string>;
  /** Milliseconds of each file that was run to its end. */
  readonly took: ReadonlyMap<string, number>;
}

export function readResults(text: string): FileResults {
  const lines = text.split('\n').filter(Boolean);
  const results = lines.map((each) => JSON.parse(each) as Line);
  return {
    failed: new Set(results.flatMap(({ file, ms }) => (ms === undefined ? [file] : []))),
    took: new Map(results.flatMap(({ file, ms }) => (ms === undefined ? [] : [[file, ms]]))),
  };
}

// eslint-disable-next-line no-restricted-syntax -- the test runner takes a reporter from the default export
export default async function* fileResults(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.file !== undefined) yield line({ file: data.file });
    if (type === 'test:summary' && data.file !== undefined) yield line({ file: data.file, ms: data.duration_ms });
  }
}

function line(result: Line): string {
  return `${JSON.stringify(result)}\n`;
}
