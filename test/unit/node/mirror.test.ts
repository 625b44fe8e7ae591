import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type EntryKind, type Listing, type MountAt, planMirror } from '../../../hack/local/node/mirror.ts';

/** A machine with these paths; every link leads to a folder. */
function aMachine(paths: Readonly<Record<string, EntryKind>>): Listing {
  const links = Object.entries(paths).flatMap(([path, kind]) =>
    typeof kind === 'object' ? [[path, kind.linkTo] as const] : [],
  );
  return {
    kind: (path) => (path === '/' ? 'folder' : paths[path]),
    entries: (folder) =>
      Object.keys(paths)
        .filter((path) => path.startsWith(folder === '/' ? '/' : `${folder}/`))
        .map((path) => path.slice(folder === '/' ? 1 : folder.length + 1))
        .filter((name) => !name.includes('/')),
    resolve: (path) =>
      links.reduce((text, [from, to]) => (text.startsWith(`${from}/`) ? to + text.slice(from.length) : text), path),
  };
}

const machine = aMachine({
  '/bin': { linkTo: '/usr/bin' },
  '/usr': 'folder',
  '/etc': 'folder',
  '/etc/hosts': 'file',
  '/etc/ssl': 'folder',
  '/run': 'folder',
  '/run/lock': 'folder',
  '/var': 'folder',
  '/var/run': { linkTo: '/run' },
});

function aVolume(path: string, more: Partial<MountAt> = {}): MountAt {
  return { from: `/state${path}`, path, kind: 'folder', readOnly: false, ...more };
}

const mountsOf = (...volumes: readonly MountAt[]): readonly string[] =>
  planMirror(volumes, machine).mounts.map(({ from, path, options }) => `${from} ${path} ${options}`);

describe('the file system of a container', () => {
  it('is the machine with each entry at its place', () => {
    assert.deepEqual(planMirror([], machine), {
      steps: [
        { make: 'link', path: '/bin', to: '/usr/bin' },
        ...['/usr', '/etc', '/run', '/var'].map((path) => ({ make: 'folder', path })),
      ],
      mountPoints: [],
      mounts: ['/usr', '/etc', '/run', '/var'].map((path) => ({ from: path, path, options: 'rbind' })),
    });
  });

  it('renews only the folders above a volume whose path does not exist', () => {
    const mounts = mountsOf(aVolume('/etc/ingester/config', { readOnly: true }));
    assert.ok(mounts.includes('/etc/hosts /etc/hosts rbind'));
    assert.ok(mounts.includes('/etc/ssl /etc/ssl rbind'));
    assert.ok(!mounts.includes('/etc /etc rbind'));
    assert.equal(mounts.at(-1), '/state/etc/ingester/config /etc/ingester/config bind,ro');
  });

  it('mounts over what exists without renewing anything', () => {
    const mounts = mountsOf(aVolume('/etc/ssl'));
    assert.ok(mounts.includes('/etc /etc rbind'));
    assert.equal(mounts.at(-1), '/state/etc/ssl /etc/ssl rbind');
  });

  it('follows the links of the machine', () => {
    const { steps, mounts } = planMirror([aVolume('/var/run/secrets')], machine);
    assert.ok(steps.some(({ path }) => path === '/run/secrets'));
    assert.equal(mounts.at(-1)?.path, '/run/secrets');
  });

  it('makes the place of a volume inside of another volume, and mounts the outer one first', () => {
    const { mountPoints, mounts } = planMirror([aVolume('/data/inner/deep'), aVolume('/data')], machine);
    assert.deepEqual(mountPoints, [{ make: 'folder', path: '/state/data/inner/deep' }]);
    assert.deepEqual(
      mounts.slice(-2).map(({ path }) => path),
      ['/data', '/data/inner/deep'],
    );
  });

  it('makes a file where a file is mounted', () => {
    const { steps } = planMirror([aVolume('/dev/termination-log', { kind: 'file' })], machine);
    assert.deepEqual(
      steps.filter(({ path }) => path.startsWith('/dev')),
      [
        { make: 'folder', path: '/dev' },
        { make: 'file', path: '/dev/termination-log' },
      ],
    );
  });
});
