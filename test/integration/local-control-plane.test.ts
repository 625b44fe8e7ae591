import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { kubeconfigText } from '../../hack/local/kubeconfig.ts';
import { eventually } from '../support/eventually.ts';
import { isRunning, killAfterFirstLine, processesOf, temporaryFolder } from '../support/processes.ts';

const silent = (): void => undefined;

describe('a local control plane', () => {
  let first: ControlPlane;
  let second: ControlPlane;
  before(async () => {
    [first, second] = await Promise.all([
      startControlPlane({ progress: silent }),
      startControlPlane({ progress: silent, minimal: true }),
    ]);
  });
  after(() => Promise.all([first.stop(), second.stop()]));

  const apply = (object: object) => first.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(object) });
  const exists = async (...args: readonly string[]): Promise<boolean> =>
    (await first.kubectlRun(['get', ...args], { allowFailure: true })).code === 0;

  it('runs beside another one', async () => {
    assert.notEqual(first.url, second.url);
    await first.kubectlRun(['create', 'namespace', 'only-in-the-first']);
    const others = await second.kubectlRun(['get', 'namespaces', '--output=name']);
    assert.ok(!others.stdout.includes('only-in-the-first'));
  });

  it('runs the version that it reports', async () => {
    const { stdout } = await first.kubectlRun(['version', '--output=json']);
    const { clientVersion, serverVersion } = JSON.parse(stdout) as Record<string, { gitVersion: string }>;
    assert.match(serverVersion!.gitVersion, /^v1\.\d+\.\d+$/);
    assert.equal(clientVersion!.gitVersion, serverVersion!.gitVersion);
  });

  it('begins with the roles of Kubernetes, and with an identity and certificates of its own', async () => {
    const of = (plane: ControlPlane, resource: string, name: string, path: string) =>
      plane.kubectlRun(['get', resource, name, '--namespace=kube-system', `--output=jsonpath={${path}}`]);
    const uids = [first, second].map((plane) => of(plane, 'namespace', 'kube-system', '.metadata.uid'));
    assert.equal(new Set((await Promise.all(uids)).map(({ stdout }) => stdout)).size, 2);
    for (const plane of [first, second]) {
      await of(plane, 'clusterrole', 'system:controller:generic-garbage-collector', '.metadata.uid');
      const name = 'extension-apiserver-authentication';
      const { stdout } = await of(plane, 'configmap', name, '.data.client-ca-file');
      assert.equal(stdout.trim(), plane.caPem.trim());
    }
  });

  it('refuses to a service account what no role allows', async () => {
    await first.kubectlRun(['create', 'serviceaccount', 'no-rights']);
    const token = (await first.kubectlRun(['create', 'token', 'no-rights'])).stdout.trim();
    const kubeconfig = join(first.directory, 'no-rights.kubeconfig');
    const user = { name: 'no-rights', token };
    writeFileSync(kubeconfig, kubeconfigText({ url: first.url, caPem: first.caPem, user }));
    const whoami = await first.kubectlRun(['auth', 'whoami'], { kubeconfig });
    assert.match(whoami.stdout, /system:serviceaccount:default:no-rights/);
    const refused = await first.kubectlRun(['get', 'secrets'], { kubeconfig, allowFailure: true });
    assert.match(refused.stderr, /Forbidden/);
    await assert.rejects(first.kubectlRun(['get', 'secrets'], { kubeconfig }), { code: 'LOCAL_KUBECTL' });
  });

  it('refuses a client without a token', async () => {
    const kubeconfig = join(first.directory, 'wrong.kubeconfig');
    const user = { name: 'wrong', token: 'wrong' };
    writeFileSync(kubeconfig, kubeconfigText({ url: first.url, caPem: first.caPem, user }));
    const refused = await first.kubectlRun(['get', 'namespaces'], { kubeconfig, allowFailure: true });
    assert.match(refused.stderr, /Unauthorized|must be logged in/);
  });

  it('deletes the dependants of a deleted object', async () => {
    const configMap = (name: string, metadata: object = {}) =>
      apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', ...metadata } });
    await configMap('owner');
    const { stdout: uid } = await first.kubectlRun(['get', 'configmap', 'owner', '--output=jsonpath={.metadata.uid}']);
    await configMap('owned', { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }] });
    await first.kubectlRun(['delete', 'configmap', 'owner']);
    await eventually(async () => assert.equal(await exists('configmap', 'owned'), false));
  });

  it('empties and removes a deleted namespace', async () => {
    await first.kubectlRun(['create', 'namespace', 'short-lived']);
    await first.kubectlRun(['create', 'configmap', 'inside', '--namespace=short-lived']);
    await first.kubectlRun(['delete', 'namespace', 'short-lived', '--timeout=30s']);
    assert.equal(await exists('namespace', 'short-lived'), false);
  });

  for (const [manner, end] of [
    ['a restart', (plane: ControlPlane) => plane.apiServer.restart()],
    ['a crash', crash],
  ] as const) {
    it(`keeps its address and its objects over ${manner} of the API server`, async () => {
      const name = manner.replaceAll(' ', '-');
      await first.kubectlRun(['create', 'configmap', name]);
      const pid = first.apiServer.pid;
      await end(first);
      assert.notEqual(first.apiServer.pid, pid);
      assert.ok(await exists('configmap', name));
    });
  }

  it('leaves neither process nor folder when it stops, and stops twice', async () => {
    const pids = processesOf(second.directory);
    assert.equal(pids.length, 3, 'etcd, API server and reaper');
    await second.stop();
    await second.stop();
    assert.deepEqual(pids.filter(isRunning), []);
    assert.equal(existsSync(second.directory), false);
  });
});

async function crash(plane: ControlPlane): Promise<void> {
  plane.apiServer.kill('SIGKILL');
  await plane.apiServer.exited();
  await plane.apiServer.start();
}

describe('a local control plane whose starter is killed', () => {
  const module = JSON.stringify(join(import.meta.dirname, '../../hack/local/control-plane.ts'));

  it('leaves neither process nor folder', async () => {
    const text = `import { startControlPlane } from ${module};
      const { directory } = await startControlPlane({ progress: () => undefined });
      const { processesOf } = await import(${JSON.stringify(join(import.meta.dirname, '../support/processes.ts'))});
      console.log(JSON.stringify({ directory, pids: processesOf(directory) }));`;
    const { directory, pids } = JSON.parse(await killAfterFirstLine(text)) as { directory: string; pids: number[] };
    assert.equal(pids.length, 5, 'four servers and the reaper');
    await eventually(() => assert.deepEqual(pids.filter(isRunning), []));
    await eventually(() => assert.equal(existsSync(directory), false));
  });

  it('leaves nothing when it had only begun to start', async () => {
    const parent = temporaryFolder();
    const text = `import { startControlPlane } from ${module};
      import { existsSync, readdirSync } from 'node:fs';
      const parent = ${JSON.stringify(parent)};
      void startControlPlane({ progress: () => undefined, parentDirectory: parent });
      setInterval(() => {
        const [name] = readdirSync(parent);
        if (name && existsSync(parent + '/' + name + '/etcd.log')) console.log(name);
      }, 1);`;
    const name = await killAfterFirstLine(text);
    assert.match(name, /^control-plane-/);
    await eventually(() => assert.deepEqual(processesOf(parent), []));
    await eventually(() => assert.deepEqual(readdirSync(parent), []));
  });
});

describe('the start of a local control plane', () => {
  const folder = temporaryFolder();
  const cache = { HOME: folder, XDG_CACHE_HOME: folder };
  const programs = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'];

  const folderWith = (texts: Record<string, string>): string => {
    const made = mkdtempSync(join(folder, 'programs-'));
    for (const [name, text] of Object.entries(texts)) {
      writeFileSync(join(made, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(made, name), 0o755);
    }
    return made;
  };
  const parentOf = (name: string): string => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };

  it('says what to do where there are neither programs nor Go', async () => {
    await assert.rejects(startControlPlane({ env: { ...cache, PATH: '' }, progress: silent }), (error: Error) => {
      assert.equal((error as { code?: string }).code, 'LOCAL_BINARIES_MISSING');
      assert.match(error.message, /KUBEBUILDER_ASSETS is not set and Go is not on PATH/);
      assert.match(error.message, /install Go 1\.26 or newer/);
      for (const program of programs) assert.ok(error.message.includes(program));
      return true;
    });
  });

  it('refuses a version of Kubernetes that it does not know', async () => {
    await assert.rejects(
      startControlPlane({ env: { ...cache, KUBERNETES: 'newest' }, progress: silent }),
      /KUBERNETES is "newest"; it may be "oldest", or not set/,
    );
  });

  it('names the programs that KUBEBUILDER_ASSETS lacks', async () => {
    const assets = folderWith({ etcd: '', 'kube-apiserver': '', kubectl: '' });
    await assert.rejects(
      startControlPlane({ env: { ...cache, PATH: '', KUBEBUILDER_ASSETS: assets }, progress: silent }),
      /KUBEBUILDER_ASSETS has no kube-controller-manager, no kube-scheduler/,
    );
  });

  it('refuses a Go that is too old', async () => {
    const path = folderWith({ go: 'echo go1.25.9' });
    await assert.rejects(
      startControlPlane({ env: { ...cache, PATH: path }, progress: silent }),
      /too old \(go1\.25\.9\)/,
    );
  });

  it('shows the output of a build that fails, and caches nothing', async () => {
    const go = 'case $1 in env) echo go1.26.0 ;; *) echo "no such module" >&2; exit 1 ;; esac';
    const env = { ...cache, PATH: folderWith({ go }) };
    const failure = { code: 'LOCAL_BUILD_FAILED', message: /no such module/ };
    await assert.rejects(startControlPlane({ env, progress: silent }), failure);
    const cached = readdirSync(join(folder, 'michelangelo-ingester/control-plane'));
    assert.deepEqual(
      cached.filter((name) => !name.endsWith('.lock')),
      [],
    );
  });

  it('shows the output of a server that fails, and leaves nothing', async () => {
    const assets = folderWith(Object.fromEntries(programs.map((name) => [name, `echo ${name} is broken; exit 1`])));
    const parentDirectory = parentOf('broken');
    const env = { ...cache, KUBEBUILDER_ASSETS: assets };
    const failure = { code: 'LOCAL_SERVER_START', message: /etcd ended while it started[^]*etcd is broken/ };
    await assert.rejects(startControlPlane({ env, parentDirectory, progress: silent }), failure);
    assert.deepEqual(readdirSync(parentDirectory), []);
  });

  it('tries other ports when another process takes its port', async () => {
    const tries = join(folder, 'tries');
    const etcd = `echo "$3" >> ${tries}; echo "listen tcp: bind: address already in use"; exit 1`;
    const assets = folderWith({ ...Object.fromEntries(programs.map((name) => [name, ''])), etcd });
    const env = { ...cache, KUBEBUILDER_ASSETS: assets };
    await assert.rejects(startControlPlane({ env, parentDirectory: parentOf('taken'), progress: silent }));
    const urls = readFileSync(tries, 'utf8').trim().split('\n');
    assert.equal(urls.length, 5);
    assert.equal(new Set(urls).size, 5);
  });

  it('ends and leaves nothing when it is aborted', async () => {
    const parentDirectory = parentOf('aborted');
    const signal = AbortSignal.timeout(700);
    await assert.rejects(startControlPlane({ parentDirectory, signal, progress: silent }), { name: 'TimeoutError' });
    assert.deepEqual(processesOf(parentDirectory), []);
    assert.deepEqual(readdirSync(parentDirectory), []);
  });
});
