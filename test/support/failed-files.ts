// A reporter of Node's test runner: the file of each test that failed, one a line.
import type { TestEvent } from 'node:test/reporters';

// eslint-disable-next-line no-restricted-syntax -- the test runner takes a reporter from the default export
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === 'test:fail' && event.data.file !== undefined) yield `${event.data.file}\n`;
  }
}
