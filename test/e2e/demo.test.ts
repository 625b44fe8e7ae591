// The README's first command, as a newcomer runs it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';

const main = join(import.meta.dirname, '../../hack/demo/main.ts');

function demo(...flags: readonly string[]) {
  const child = spawn(process.execPath, [main, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exit = once(child, 'exit').then(([code]: unknown[]) => code);
  return { child, exit, output: () => output };
}

describe('npm run demo', () => {
  it('tells the whole story with --once and ends with 0', async () => {
    const { exit, output } = demo('--once');
    assert.equal(await exit, 0, output());
    for (const proof of [
      'All 13 objects carry the finalizer',
      '13 objects, 13 rows',
      'algorithm and res_version are those of the patch',
      'held by the finalizer, because MySQL does not know the final state yet',
      'row soft-deleted',
      'Soft-deleted in MySQL, then gone from the cluster',
      'Not in etcd any more, complete in MySQL, and not deleted',
    ]) {
      assert.ok(output().includes(proof), `${proof}\n${output()}`);
    }
  });

  it('stays up, says how to use it, and cleans up on Ctrl-C', async () => {
    const { child, exit, output } = demo();
    await eventually(() => assert.match(output(), /It is yours.*kubectl logs -f/s), 120_000);
    const kubeconfig = /KUBECONFIG=(\S+)/.exec(output())?.[1] ?? '';
    assert.ok(existsSync(kubeconfig));
    child.kill('SIGINT');
    assert.equal(await exit, 0);
    assert.ok(!existsSync(kubeconfig));
  });

  it('refuses unknown options and explains itself', async () => {
    const unknown = demo('--twice');
    assert.equal(await unknown.exit, 2);
    assert.match(unknown.output(), /Unknown option --twice.*npm run demo -- --once/s);
  });
});
