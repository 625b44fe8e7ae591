// What the scripts of hack/kind say where something is missing or in the way. Docker, kind and kubectl are scripts here.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

const root = join(import.meta.dirname, '../..');
const docker =
  'case "$1 $2" in "info --format") echo /;; "image inspect") exit 0;; "version --format") echo 28.0.0;; esac';

describe('the scripts of kind', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kind-scripts-'));
    for (const name of [
      'bash',
      'sh',
      'dirname',
      'mkdir',
      'chmod',
      'grep',
      'sed',
      'df',
      'tail',
      'tr',
      'rm',
      'find',
      'touch',
      'ln',
    ]) {
      const at = [`/usr/bin/${name}`, `/bin/${name}`].find((path) => existsSync(path));
      if (at !== undefined) program(name, `exec ${at} "$@"`);
    }
    for (const name of ['openssl', 'curl', 'kubectl', 'kind']) program(name, 'exit 0');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function program(name: string, script: string, bin = 'bin'): void {
    mkdirSync(join(folder, bin), { recursive: true });
    writeFileSync(join(folder, bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, bin, name), 0o755);
  }

  /** With nothing on the path but what was made above. */
  function run(script: string, ...args: readonly string[]): { readonly code: number | null; readonly said: string } {
    const env = { PATH: `${join(folder, 'bin')}:${join(folder, 'later')}`, KIND_STATE: join(folder, 'state') };
    const { status, stderr, stdout } = spawnSync('/bin/bash', [join(root, 'hack/kind', script), ...args], {
      env,
      encoding: 'utf8',
    });
    assert.equal(stdout, '');
    return { code: status, said: stderr.replace(/^==> /, '').trim() };
  }

  it('say what to install where there is no Docker', () => {
    for (const script of ['up', 'down', 'test', 'all', 'node-image', 'mysql-image']) {
      const { code, said } = run(script);
      assert.deepEqual([code, said.includes('apt-get install docker.io iptables')], [3, true], `${script}: ${said}`);
      assert.ok(!said.includes('\n'), said);
    }
  });

  it('say how to start a daemon where none answers', () => {
    program('docker', 'echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock" >&2; exit 1');
    const { code, said } = run('up');
    assert.equal(code, 3);
    assert.match(said, /^no Docker daemon answers\. Start it: .*hack\/kind\/daemon.*$/);
  });

  it('say who may use the daemon where this user may not', () => {
    program('docker', 'echo "permission denied while trying to connect to the Docker daemon socket" >&2; exit 1');
    const { code, said } = run('up');
    assert.equal(code, 3);
    assert.match(said, /^you may not use Docker here: .*group docker.*$/);
  });

  it('ask for a builder where Docker has none', () => {
    program('docker', `case "$1" in buildx) exit 1;; esac; ${docker}`);
    const { code, said } = run('up');
    assert.equal(code, 3);
    assert.match(said, /^this Docker has no BuildKit: .*docker-buildx.*$/);
  });

  it('take a Docker with a builder that stands behind one without', () => {
    program('docker', `case "$1" in buildx) exit 1;; esac; ${docker}`);
    const older =
      'case "$1 $2" in "version --format") echo 20.10.24;; "info --format") echo /;; "image inspect") exit 0;; esac';
    program('docker', `case "$1" in buildx) exit 1;; esac; ${older}`, 'later');
    program('df', 'echo Avail; echo 3G');
    const { code, said } = run('up');
    assert.equal(code, 1);
    assert.match(said, /^\/ has 3 GiB left/);
  });

  it('stop before anything is made where there is no space for it', () => {
    program('docker', docker);
    program('df', 'echo Avail; echo 3G');
    const { code, said } = run('up');
    assert.equal(code, 1);
    assert.match(said, /^\/ has 3 GiB left and 10 GiB are needed; .*$/);
  });

  it('leave a cluster of that name alone that they did not make', () => {
    program('docker', docker);
    program('df', 'echo Avail; echo 300G');
    program('kind', 'echo "$@" >> "${0%/bin/*}/kind.log"; [ "$1" = get ] && echo ingester-e2e; true');
    const { code, said } = run('up');
    assert.equal(code, 1);
    assert.match(said, /^a cluster ingester-e2e is there that these scripts did not make: set KIND_CLUSTER.*$/);
    assert.equal(readFileSync(join(folder, 'kind.log'), 'utf8'), 'get clusters\n');
  });

  it('delete what there is of a cluster that could not be created', () => {
    program('docker', docker);
    program('df', 'echo Avail; echo 300G');
    program('kind', 'echo "$1 $2" >> "${0%/bin/*}/kind.log"; [ "$1" != create ]');
    const { code, said } = run('up');
    assert.equal(code, 1);
    assert.match(said, /the cluster ingester-e2e could not be created; what there was of it is deleted\.$/);
    assert.equal(readFileSync(join(folder, 'kind.log'), 'utf8'), 'get clusters\ncreate cluster\ndelete cluster\n');
  });

  it('make a cluster again whose creation was interrupted', () => {
    program('docker', docker);
    program('df', 'echo Avail; echo 300G');
    mkdirSync(join(folder, 'state'), { recursive: true });
    writeFileSync(join(folder, 'state/ingester-e2e.ours'), '');
    const failing = '[ "$1" = get ] && echo ingester-e2e; [ "$1" != export ] && [ "$1" != create ]';
    program('kind', `echo "$1 $2" >> "\${0%/bin/*}/kind.log"; ${failing}`);
    const { code, said } = run('up');
    assert.equal(code, 1);
    assert.match(
      said,
      /^the cluster ingester-e2e does not answer, as if its creation was interrupted: making it again$/m,
    );
    const calls = 'get clusters\nexport kubeconfig\ndelete cluster\ncreate cluster\ndelete cluster\n';
    assert.equal(readFileSync(join(folder, 'kind.log'), 'utf8'), calls);
  });
});
