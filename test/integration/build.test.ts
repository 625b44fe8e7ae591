// What the image has inside: the built program without its libraries beside it, started as a pod starts it.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createAuthority } from '../../hack/local/certificates.ts';
import { freePort } from '../../hack/local/free-port.ts';
import { type Reaper, startReaper } from '../../hack/local/reaper.ts';
import { createRole } from '../../hack/local/role-process.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { writeKeyPair } from '../../hack/local/webhook-process.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { supportedSchema } from '../../src/storage/schema-range.ts';
import { type BuiltImage, makeBuiltImage } from '../support/built-image.ts';
import { httpsPost } from '../support/https-get.ts';
import { aReview } from '../support/review.ts';

const root = join(import.meta.dirname, '../..');
const commit = '0123456789abcdef0123456789abcdef01234567';

describe('the built program', () => {
  let built: BuiltImage;
  let main: string;
  let reaper: Reaper;
  before(async () => {
    built = await makeBuiltImage(commit);
    main = join(built.folder, 'src/main.js');
    reaper = startReaper(built.folder);
  });
  after(async () => {
    await reaper.dismiss();
    built.remove();
  });
  const run = (...args: readonly string[]): ReturnType<typeof runCommand> =>
    runCommand(process.execPath, [main, ...args], { cwd: built.folder, env: { PATH: process.env['PATH'] } });

  it('prints its version, its commit, and the schema it wants', async () => {
    const { version: schema } = supportedSchema;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const { stdout } = await run('version', '-o', 'json');
    assert.deepEqual(JSON.parse(stdout), { version, commit, schema, node: process.version });
    const { stdout: text } = await run('version');
    assert.equal(text, `ingester ${version} (commit ${commit}), schema ${schema}, Node ${process.version}\n`);
  });

  it('has the code and the files of every role, and of the plugin of kubectl', async () => {
    for (const args of [['webhook'], ['reconciler'], ['reconciler', '--controllers', 'lifecycle'], ['query']]) {
      // Each is loaded before its configuration is read.
      const { code, stderr } = await run('--config', 'missing.yaml', ...args);
      assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
      assert.match(stderr, /CONFIGURATION_INVALID/);
    }
    const plugin = join(built.folder, 'src/kubectl-ingester.js');
    const { stdout } = await runCommand(process.execPath, [plugin, 'version', '--client'], { cwd: built.folder });
    assert.match(stdout, /Client version/);
  });

  it('has commands for a PATH, of which the plugin runs on a Node of its user', async () => {
    // What Node 20 lacks of what the plugin and its libraries use.
    const older = `data:text/javascript,${encodeURIComponent(
      "import z from 'node:zlib'; import w from 'node:worker_threads'; delete z.createZstdDecompress; " +
        'delete w.markAsUncloneable; delete JSON.rawJSON; delete JSON.isRawJSON; delete Promise.withResolvers;',
    )}`;
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, NODE_OPTIONS: `--import=${older}` };
    const command = join(built.folder, 'bin/kubectl-ingester');
    const { stdout } = await runCommand(command, ['version', '--client'], { cwd: built.folder, env });
    assert.match(stdout, /Client version/);
    // The HTTP client is loaded by now.
    const { code, stderr } = await runCommand(command, ['get', 'models', '--kubeconfig', '/none'], { env });
    assert.equal(code, 1);
    assert.match(stderr, /No connection to Kubernetes: cannot read \/none/);
    const { stdout: version } = await runCommand(join(built.folder, 'bin/ingester'), ['version'], {
      env: { PATH: env.PATH },
    });
    assert.match(version, /^ingester \d/);
  });

  it('has the licence of every library that is inside', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
    const text = readFileSync(join(built.folder, 'LICENSES.txt'), 'utf8');
    for (const name of Object.keys(dependencies)) assert.match(text, new RegExp(`^${name} \\d`, 'm'), name);
  });

  it('answers an admission review', async () => {
    const [port, healthPort, authority] = [await freePort(), await freePort(), await createAuthority('built')];
    const certDir = join(built.folder, 'tls');
    mkdirSync(certDir);
    writeKeyPair(certDir, await authority.issue({ commonName: 'ingester-webhook', hosts: ['127.0.0.1'] }));
    const configuration = { server: { bindAddress: `127.0.0.1:${port}`, certDir }, webhook: { shutdownDelay: '0s' } };
    const webhook = createRole({ role: 'webhook', main, directory: built.folder, configuration, healthPort, reaper });
    try {
      await webhook.start();
      const metadata = { namespace: 'a-namespace', name: 'a-model' };
      const object = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata };
      const { body } = await httpsPost(`https://127.0.0.1:${port}/mutate`, authority, aReview({ object }));
      const { response } = body as { response: { allowed: boolean; patch: string } };
      assert.equal(response.allowed, true);
      assert.match(Buffer.from(response.patch, 'base64').toString(), new RegExp(FINALIZER));
    } finally {
      await webhook.stop();
    }
  });
});
