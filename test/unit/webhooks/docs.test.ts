// docs/admission.md is what users read when a request is refused; it has every rule and every metric, and no other.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { mutatingPolicies } from '../../../webhooks/policies/finalizer.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = read('docs/admission.md');

describe('docs/admission.md', () => {
  it('has a heading for each policy and each rule', () => {
    const rules = globSync('webhooks/policies/*.ts', { cwd: root }).flatMap((file) =>
      [...read(file).matchAll(/^ +name: '([a-z-]+)',$/gm)].map(([, name]) => name),
    );
    assert.ok(rules.length >= 5);
    const headings = [...page.matchAll(/^### ([a-z-]+)$/gm)].map(([, name]) => name);
    assert.deepEqual(headings.toSorted(), [...mutatingPolicies, ...rules].toSorted());
  });

  it('has a page of checks whose tests all exist', () => {
    const rows = [...read('test/e2e/admission-checks.md').matchAll(/^\| (\d+)\. .* \| (.*) \|$/gm)];
    const numbers = rows.map(([, number]) => Number(number));
    const expected = [...Array.from({ length: 24 }, (_, index) => 11 + index), 41, 42, 43, 44, 46];
    assert.deepEqual(numbers, expected);
    for (const [, number, tests = ''] of rows) {
      for (const test of tests.split('; ')) {
        const [, file = '', title = ''] = /^`([^`]+)`: (.+)$/.exec(test) ?? [];
        assert.ok(
          read(`test/${file}${file.includes('contract') ? '' : '.test'}.ts`).includes(title),
          `${number}: ${test}`,
        );
      }
    }
  });

  it('names each metric of the webhook', () => {
    for (const [, name = ''] of read('src/metrics/admission.ts').matchAll(/name: '(\w+)'/g)) {
      assert.ok(page.includes(name), name);
    }
  });

  it('names each webhook that is registered, and what happens while it does not answer', () => {
    const registered = ['mutating', 'validating'].flatMap((file) => [
      ...read(`config/base/webhook/${file}.yaml`).matchAll(
        /name: ([\w-]+)\.ingester\.michelangelo\.api[\s\S]*?failurePolicy: (\w+)/g,
      ),
    ]);
    assert.ok(registered.length >= 5);
    for (const [, name, policy] of registered) {
      const answer = policy === 'Fail' ? 'refused' : 'allowed';
      assert.match(page, new RegExp(`^\\| \`${name}\` \\|.*\\| ${answer} \\|$`, 'm'));
    }
  });
});
