import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { runCommand } from '../../../hack/local/run-command.ts';

const root = join(import.meta.dirname, '../../..');

it('large numbers survive on a Node that keeps no text of numbers', async () => {
  const script = `
    delete JSON.rawJSON;
    delete JSON.isRawJSON;
    const parse = JSON.parse;
    JSON.parse = (text, reviver) => parse(text, reviver && function (key, value) { return reviver.call(this, key, value); });
    await import('./src/cli/kubectl/older-node.ts');
    const { isRawNumber, parseLossless } = await import('./src/base/lossless-json.ts');
    const parsed = parseLossless('{"n":9007199254740995,"m":-12345678901234567890,"t":"9007199254740995","s":1}');
    console.log(JSON.stringify(parsed), isRawNumber(parsed.n), isRawNumber(parsed.s));`;
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script], { cwd: root });
  assert.equal(
    stdout,
    '{"n":9007199254740995,"m":-12345678901234567890,"t":"9007199254740995","s":1} true false\n',
    stderr,
  );
});
