// The image that the Dockerfile makes: the same bytes for the same commit, small, and runnable with nothing but itself.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, it, type TestContext } from 'node:test';
import { createGzip } from 'node:zlib';
import { runCommand } from '../../hack/local/run-command.ts';

const names = ['first', 'second'].map((build) => `michelangelo-ingester:test-${build}`);
const [image = ''] = names;
const limit = 130 * 2 ** 20;
const isThere = (await runCommand('docker', ['info'])).code === 0;

interface Inspected {
  readonly RootFS: { readonly Layers: readonly string[] };
  readonly Config: object;
}

async function command(name: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(name, args);
  assert.equal(code, 0, `${name} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

async function inspect(name: string): Promise<Inspected> {
  const [found] = JSON.parse(await command('docker', 'image', 'inspect', name)) as Inspected[];
  assert.ok(found, name);
  return found;
}

describe('the image', { skip: !isThere && 'needs Docker' }, () => {
  before(async () => {
    for (const name of names) await command('hack/kind/image', name, '--no-cache');
  });
  after(() => runCommand('docker', ['image', 'rm', ...names]));

  it('has the same layers and the same configuration, whenever the same commit is built', async () => {
    const [first, second] = await Promise.all(names.map(inspect));
    assert.ok(first && second);
    assert.ok(first.RootFS.Layers.length > 0);
    // What a layer is called is the hash of its files with their owners, rights and times.
    assert.deepEqual(first.RootFS.Layers, second.RootFS.Layers);
    assert.deepEqual(first.Config, second.Config);
  });

  it('is no larger than 130 MB compressed', async (context: TestContext) => {
    const save = spawn('docker', ['save', image], { stdio: ['ignore', 'pipe', 'inherit'] });
    let bytes = 0;
    for await (const chunk of save.stdout.pipe(createGzip())) bytes += (chunk as Buffer).length;
    context.diagnostic(`${(bytes / 1e6).toFixed(0)} MB`);
    assert.ok(bytes > 2 ** 20 && bytes < limit, `${bytes} bytes`);
  });

  it('runs read-only, without a capability, a network or root', async () => {
    const { Config } = await inspect(image);
    assert.equal((Config as { User: string }).User, '65532:65532');
    const confined = ['--read-only', '--cap-drop', 'ALL', '--network', 'none', '--security-opt', 'no-new-privileges'];
    assert.match(await command('docker', 'run', '--rm', ...confined, image, 'version'), /\d+\.\d+\.\d+/);
  });

  it('runs as a user that it does not know, as OpenShift assigns one to each namespace', async () => {
    const confined = ['--read-only', '--cap-drop', 'ALL', '--user', '1000650000:0'];
    assert.match(await command('docker', 'run', '--rm', ...confined, image, 'version'), /\d+\.\d+\.\d+/);
  });

  for (const program of ['sh', 'bash', 'apt-get', 'dpkg', 'npm']) {
    it(`has no ${program}`, async () => {
      const { code, stderr } = await runCommand('docker', ['run', '--rm', '--entrypoint', program, image]);
      assert.equal(code, 127, stderr);
    });
  }
});
