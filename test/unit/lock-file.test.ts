import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

interface Entry {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const file = join(import.meta.dirname, '../../package-lock.json');
const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Readonly<Record<string, Entry>> };

describe('package-lock.json', () => {
  it('has the optional packages of every platform, without which npm ci refuses it', () => {
    for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
      for (const name of Object.keys(optionalDependencies)) {
        const known = [`node_modules/${name}`, `${path}/node_modules/${name}`].some((place) => place in packages);
        assert.ok(known, `${name} is missing: run "node hack/complete-lock.mjs"`);
      }
    }
  });

  it('names no registry, so that each user installs from a registry of their choice', () => {
    for (const [path, { resolved }] of Object.entries(packages)) assert.equal(resolved, undefined, path);
  });

  it('has the hash of every package, but of optional tools for platforms that its registry did not have', () => {
    const unhashed = Object.entries(packages).filter(([path, { integrity }]) => path !== '' && integrity === undefined);
    const needed = unhashed.filter(([, { optional, dev }]) => optional !== true || dev !== true);
    assert.deepEqual(
      needed.map(([path]) => path),
      [],
    );
    for (const [path, { integrity }] of Object.entries(packages)) {
      if (integrity !== undefined) assert.match(integrity, /^sha512-/, path);
    }
  });
});
