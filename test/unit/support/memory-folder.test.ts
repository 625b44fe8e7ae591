import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { memoryFolder } from '../../support/memory-folder.ts';

describe('a folder in memory', () => {
  it('is none where there is no such file system, or no file can be made in it', () => {
    assert.equal(memoryFolder('/nonexistent'), undefined);
    assert.equal(memoryFolder('/proc'), undefined);
  });

  it('is a new one each time, where there is room', (test) => {
    const folders = [memoryFolder(), memoryFolder()];
    const [one, other] = folders;
    if (one === undefined || other === undefined) {
      test.skip('no room in memory on this machine');
      return;
    }
    assert.notEqual(one, other);
    for (const folder of [one, other]) {
      assert.ok(existsSync(folder));
      rmSync(folder, { recursive: true });
    }
  });
});
