import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { copyPackages } from '../../../hack/build/debian-status.ts';

describe('the packages of an image', () => {
  const folder = mkdtempSync(join(tmpdir(), 'packages-'));
  after(() => rmSync(folder, { recursive: true }));

  it('are those that its files are of, also where /lib is a link', () => {
    const [base, image] = [join(folder, 'base'), join(folder, 'image')];
    mkdirSync(join(base, 'var/lib/dpkg/info'), { recursive: true });
    const stanza = (name: string): string => `Package: ${name}\nVersion: 1:2-3\nArchitecture: arm64\n`;
    writeFileSync(join(base, 'var/lib/dpkg/status'), `${stanza('libc6')}\n${stanza('bash')}`);
    writeFileSync(join(base, 'var/lib/dpkg/info/libc6:arm64.list'), '/.\n/lib/aarch64-linux-gnu/libc.so.6\n');
    writeFileSync(join(base, 'var/lib/dpkg/info/bash.list'), '/.\n/bin/bash\n');
    const packages = copyPackages(base, image, ['/usr/lib/aarch64-linux-gnu/libc.so.6']);
    assert.deepEqual(packages, [{ name: 'libc6', version: '1:2-3', architecture: 'arm64' }]);
    assert.deepEqual(readdirSync(join(image, 'var/lib/dpkg/status.d')), ['libc6']);
    assert.match(readFileSync(join(image, 'var/lib/dpkg/status.d/libc6'), 'utf8'), /^Package: libc6$/m);
  });

  it('are none of a base without dpkg', () => {
    assert.deepEqual(copyPackages(join(folder, 'none'), join(folder, 'image'), ['/lib/libc.so.6']), []);
  });
});
