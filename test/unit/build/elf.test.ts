import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { neededBy } from '../../../hack/build/elf.ts';

describe('what a program loads', () => {
  it('is read from the file of a dynamic program', () => {
    const { interpreter, libraries } = neededBy(readFileSync(process.execPath), 'node');
    assert.match(interpreter ?? '', /^\/lib.*\/ld-linux-[\w-]+\.so\.\d$/);
    assert.ok(libraries.includes('libc.so.6'), libraries.join());
    assert.ok(libraries.includes('libstdc++.so.6'), libraries.join());
  });

  it('is refused, by name, of what is no program', () => {
    const refused = { code: 'BUILD_NOT_A_PROGRAM', message: /^script is no / };
    assert.throws(() => neededBy(Buffer.from('#!/bin/sh\n'), 'script'), refused);
    assert.throws(() => neededBy(Buffer.alloc(0), 'script'), refused);
  });
});
