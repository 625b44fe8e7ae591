import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import type { ReadStream } from 'node:tty';
import { CTRL_C, onKeys } from '../../../hack/demo/keys.ts';

/** A stream that notes whether it was told to hand over keys one by one. */
function terminal(isTTY: boolean) {
  const raw: boolean[] = [];
  const input = new PassThrough() as unknown as ReadStream;
  input.setRawMode = (mode) => {
    raw.push(mode);
    return input;
  };
  input.isTTY = isTTY;
  const type = (text: string): unknown => input.emit('data', text);
  return { input, raw, type };
}

describe('the keys of the demo', () => {
  it('act at once, each as often as it is pressed, and unknown ones not at all', () => {
    const { input, type } = terminal(true);
    const seen: string[] = [];
    onKeys(input, new Map(['m', 'q', CTRL_C].map((key) => [key, () => seen.push(key)])));
    type('mxm');
    type(CTRL_C);
    assert.deepEqual(seen, ['m', 'm', CTRL_C]);
  });

  it('give the terminal back when they are released', () => {
    const { input, raw, type } = terminal(true);
    const release = onKeys(input, new Map([['q', () => assert.fail('released')]]));
    release();
    type('q');
    assert.deepEqual(raw, [true, false]);
  });

  it('are none where the input is no terminal', () => {
    const { input, raw, type } = terminal(false);
    onKeys(input, new Map([['q', () => assert.fail('no terminal')]]))();
    type('q');
    assert.deepEqual(raw, []);
  });
});
