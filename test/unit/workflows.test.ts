// The workflows name what exists, run no longer than they have to, and may do no more than they need.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Cluster {
  readonly node: string;
  readonly overlay: string;
  readonly gitops: string;
}

interface Job {
  readonly 'timeout-minutes'?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly include: readonly Cluster[] } };
  readonly steps: readonly Step[];
}

const workflows = globSync('.github/workflows/*.yaml', { cwd: root }).map((file) => {
  return { name: basename(file, '.yaml'), ...(parse(readFileSync(join(root, file), 'utf8')) as Workflow) };
});
const jobs = workflows.flatMap(({ jobs: all }) => Object.values(all));
const steps = jobs.flatMap((job) => job.steps);
const { scripts, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
  version: string;
};

describe('the workflows', () => {
  it('declare their permissions and a timeout', () => {
    assert.deepEqual(workflows.map(({ name }) => name).sort(), ['kind', 'release']);
    for (const { name, permissions } of workflows) assert.ok(permissions !== undefined, name);
    for (const job of jobs) assert.ok((job['timeout-minutes'] ?? 0) > 0);
  });

  it('run scripts that exist', () => {
    for (const { run = '' } of steps) {
      for (const [path] of run.matchAll(/\b(?:hack|src)\/[\w./-]+/g)) assert.ok(existsSync(join(root, path)), path);
      for (const [, script = ''] of run.matchAll(/npm run ([a-z]+)/g)) assert.ok(script in scripts, script);
    }
  });

  it('hand the bundle over to Argo CD and to Flux, with a webhook and with policies', () => {
    const clusters = jobs.flatMap(({ strategy }) => strategy?.matrix.include ?? []);
    const script = readFileSync(join(root, 'hack/kind/gitops'), 'utf8');
    const known = /case "\$tool" in\s+(\w+) \| (\w+)\) ;;/.exec(script)?.slice(1) ?? [];
    assert.deepEqual(new Set(clusters.map(({ gitops }) => gitops)), new Set(known));
    const overlays = new Set(clusters.map(({ overlay }) => overlay));
    assert.deepEqual(overlays, new Set(['config/overlays/kind', 'config/overlays/kind-policies']));
    for (const overlay of overlays) assert.ok(existsSync(join(root, overlay, 'kustomization.yaml')), overlay);
  });

  it('run scripts that bash understands, and that say how they are called', () => {
    for (const name of [
      'up',
      'down',
      'gitops',
      'test',
      'common.sh',
      'base',
      'node-image',
      'mysql-image',
      'daemon',
      'runc-permitted',
    ]) {
      const { status, stderr } = spawnSync('bash', ['-n', join(root, 'hack/kind', name)], { encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    }
    for (const name of ['gitops', 'test']) {
      const { status, stderr } = spawnSync(join(root, 'hack/kind', name), ['nothing'], { encoding: 'utf8' });
      assert.equal(status, 2);
      assert.match(stderr, /usage: hack\/kind\//);
    }
  });

  it('use actions by commit, and images by digest', () => {
    for (const { uses } of steps) if (uses !== undefined) assert.match(uses, /^[\w./-]+@[0-9a-f]{40}$/);
    const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
    const [, base = ''] = /^ARG BASE=(\S+)$/m.exec(dockerfile) ?? [];
    assert.match(base, /^node:24-[\w-]+@sha256:[0-9a-f]{64}$/);
    assert.match(dockerfile, /^ARG TARGET_BASE=\$BASE$/m);
    const foundations = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)].map(([, from]) => from);
    assert.deepEqual(foundations, ['$BASE', '$TARGET_BASE', 'build', 'scratch']);
    const nodes = jobs.flatMap(({ strategy }) => strategy?.matrix.include.map(({ node }) => node) ?? []);
    assert.ok(nodes.length >= 2);
    for (const node of nodes) assert.match(node, /^kindest\/node:v1\.\d+\.\d+@sha256:[0-9a-f]{64}$/);
  });

  it('test the oldest Kubernetes that the docs and the chart promise', () => {
    const nodes = jobs.flatMap(({ strategy }) => strategy?.matrix.include.map(({ node }) => node) ?? []);
    const oldest = Math.min(...nodes.map((node) => Number(/:v1\.(\d+)/.exec(node)?.[1])));
    assert.match(
      readFileSync(join(root, 'docs/compatibility.md'), 'utf8'),
      new RegExp(`Kubernetes \\| 1\\.${oldest} and newer`),
    );
    assert.match(readFileSync(join(root, 'hack/release/chart.ts'), 'utf8'), new RegExp(`'>=1\\.${oldest}\\.0-0'`));
  });

  it('keep no credentials on disk, and let no job that runs code of packages write to the repository', () => {
    for (const { uses = '', with: inputs } of steps) {
      if (uses.startsWith('actions/checkout@')) assert.equal(inputs?.['persist-credentials'], false);
    }
    for (const { name, permissions, jobs: all } of workflows) {
      for (const [job, { permissions: own = permissions, steps: run }] of Object.entries(all)) {
        const installs = run.some((step) => step.run?.includes('npm ') === true);
        assert.ok(!installs || own?.['contents'] === 'read', `${name}/${job}`);
      }
    }
  });

  it('sign the image they release, with its contents and its provenance', () => {
    const release = workflows.find(({ name }) => name === 'release');
    const released = Object.values(release?.jobs ?? {}).flatMap((job) => job.steps);
    const image = released.find(({ uses }) => uses?.startsWith('docker/build-push-action@') === true);
    assert.deepEqual([image?.with?.['sbom'], image?.with?.['provenance']], [true, 'mode=max']);
    assert.ok(released.some(({ run }) => run?.startsWith('cosign sign --yes') === true));
    assert.ok(released.some(({ uses }) => uses?.startsWith('actions/attest-build-provenance@') === true));
  });

  it('release the version of the manifests', () => {
    const kustomized = readFileSync(join(root, 'config/base/webhook/deployment.yaml'), 'utf8');
    assert.match(kustomized, new RegExp(`michelangelo-ingester:${version.replaceAll('.', '\\.')}$`, 'm'));
  });
});
