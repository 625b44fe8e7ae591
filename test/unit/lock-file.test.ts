import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

interface Entry {
  readonly resolved?: string;
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

  it('names no registry, so that every user installs from his own', () => {
    for (const [path, { resolved }] of Object.entries(packages)) assert.equal(resolved, undefined, path);
  });
});
