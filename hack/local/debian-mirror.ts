import { existsSync, readFileSync } from 'node:fs';
import { CodedError } from '../../src/base/errors.ts';
import { runCommand } from './run-command.ts';

/** Where this system gets its Debian packages from, and of which release it is. */
export interface DebianMirror {
  readonly uri: string;
  readonly codename: string;
  readonly keyring: string;
}

const keyrings = ['/usr/share/keyrings/debian-archive-keyring.gpg', '/usr/share/keyrings/debian-archive-keyring.pgp'];

/** Reads the system's package sources without changing them. `advice` says what to do where there are none. */
export async function findDebianMirror(advice: string, env: NodeJS.ProcessEnv): Promise<DebianMirror> {
  const fail = (what: string): CodedError => new CodedError('LOCAL_NO_PACKAGES', `${what}\n${advice}`);
  const dpkg = await runCommand('dpkg-deb', ['--version'], { env });
  const format = '$(REPO_URI) $(RELEASE) $(COMPONENT)';
  const targets = await runCommand('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], { env });
  if (dpkg.code !== 0 || targets.code !== 0) throw fail('This system has no working apt-get and dpkg-deb.');
  const keyring = keyrings.find((path) => existsSync(path));
  const codename = ownCodename();
  const uri = targets.stdout
    .split('\n')
    .map((line) => line.split(' '))
    .find(([from, release, component]) => release === codename && component === 'main' && isDebianArchive(from))?.[0];
  if (keyring === undefined || codename === undefined || uri === undefined) {
    throw fail("apt-get on this system has no source for Debian's own packages.");
  }
  return { uri, codename, keyring };
}

/** Other vendors name their suites like Debian's; only Debian's own archive has this path. */
function isDebianArchive(uri: string | undefined): boolean {
  return uri !== undefined && /\/debian\/?$|\/debian\.(list|sources)\/?$|\/archive\/debian\//.test(uri);
}

function ownCodename(): string | undefined {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return /^VERSION_CODENAME="?([\w-]+)"?$/m.exec(release)?.[1];
}
