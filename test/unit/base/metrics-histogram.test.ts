import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { HotHistogram } from '../../../src/metrics/histogram.ts';

const options = { name: 'test_seconds', help: 'A test', labelNames: ['name', 'controller'], buckets: [0.1, 1, 10] };
const labels = { name: 'n', controller: 'c' };

describe('HotHistogram', () => {
  it('is exposed like a histogram of the library, whatever was observed', async () => {
    const values = fc.array(fc.oneof(fc.constantFrom(0, 0.1, 1, 10), fc.double({ min: 0, max: 100, noNaN: true })));
    await fc.assert(
      fc.asyncProperty(values, async (observed) => {
        const [ours, theirs] = [new Registry(), new Registry()];
        const hot = new HotHistogram(options, ours).series(labels);
        const plain = new Histogram({ ...options, registers: [theirs] });
        plain.zero(labels);
        for (const value of observed) {
          hot.observe(value);
          plain.observe(labels, value);
        }
        const lines = (text: string): string[] => text.split('\n').map(withSortedLabels).sort();
        assert.deepEqual(lines(await ours.metrics()), lines(await theirs.metrics()));
      }),
      { numRuns: 50 },
    );
  });
});

function withSortedLabels(line: string): string {
  return line.replace(/\{(.*)\}/, (_whole, list: string) => `{${list.split(',').sort().join(',')}}`);
}
