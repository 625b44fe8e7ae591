import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memorySettings } from '../../bench/shipped.ts';

describe('the settings that benches run with', () => {
  for (const role of ['webhook', 'reconciler', 'query'] as const)
    it(`are those of the manifest of the ${role}`, () => {
      const { NODE_OPTIONS = '' } = memorySettings(role);
      assert.match(NODE_OPTIONS, /--max-old-space-size=\d+/);
    });
});
