// The demo in containers, as a reader with Docker runs it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommand } from '../../hack/local/run-command.ts';

const isThere = (await runCommand('docker', ['info'])).code === 0;

describe('npm run demo -- --kind', { skip: !isThere && 'needs Docker' }, () => {
  it('tells the whole story on a kind cluster, runs the three commands and leaves no container', async () => {
    const { code, stdout, stderr } = await runCommand(process.execPath, ['hack/demo/main.ts', '--kind', '--once']);
    assert.equal(code, 0, stdout + stderr);
    for (const proof of [
      'All 13 are as apiserver, the API server of Michelangelo, wrote them',
      'All 13 objects carry the finalizer',
      'held by the finalizer, because MySQL does not know the final state yet',
      'row soft-deleted',
      'Not in etcd any more, complete in MySQL, and not deleted',
      'Each of them shows what it is for',
    ]) {
      assert.ok(stdout.includes(proof), `${proof}\n${stdout}`);
    }
    const left = await runCommand('docker', ['ps', '--all', '--quiet', '--filter', 'name=ingester-demo']);
    assert.equal(left.stdout, '');
  });
});
