// node hack/build/image.ts <base> <image>: run while the image is built. Takes out of the file system of a base what the
// image needs of it: Node with the libraries that it loads, and which packages they are of. There is no shell in it, and
// nothing to install with.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { writeBillOfMaterials } from './bill-of-materials.ts';
import { copyPackages, type DebianPackage } from './debian-status.ts';
import { neededBy } from './elf.ts';

const node = 'usr/local/bin/node';
/**
 * Compiled code differs by the seed of V8's hashes, which is random. Node takes compiled code only of the same flags, so
 * the flag is as usual again once the seed is taken.
 */
const usualSeed = 'import { setFlagsFromString } from "node:v8"; setFlagsFromString("--hash-seed=0")';
const reproducible = ['--hash-seed=1', '--import', `data:text/javascript,${encodeURIComponent(usualSeed)}`];
/** That of the image. */
const user = 65_532;
const libraryFolders = ['lib/*-linux-gnu', 'usr/lib/*-linux-gnu', 'lib64', 'usr/lib64', 'lib', 'usr/lib'];
const files: Readonly<Record<string, string>> = {
  'etc/passwd': 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n',
  'etc/group': 'root:x:0:\nnonroot:x:65532:\n',
  'etc/nsswitch.conf': 'hosts: files dns\n',
};

const [base = '/', image = '', program = '/app'] = process.argv.slice(2);
// Commands for the PATH of a user, in a shell that the image does not have.
rmSync(join(program, 'bin'), { recursive: true, force: true });
const copied = copyProgram(node);
const packages = copyPackages(base, image, copied);
for (const [path, text] of Object.entries(files)) write(path, text);
copy('etc/os-release', join(base, 'usr/lib/os-release'));
mkdirSync(join(image, 'tmp'));
chmodSync(join(image, 'tmp'), 0o1777);
for (const [name, main] of [
  ['ingester', 'main.js'],
  ['kubectl-ingester', 'kubectl-ingester.js'],
] as const) {
  const path = join(program, 'src', main);
  // There is no /usr/bin/env.
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^#!.*\n/, `#!/${node}\n`));
  chmodSync(path, 0o755);
  symlinkSync(path, join(image, 'usr/local/bin', name));
}
writeBillOfMaterials(join(program, 'sbom.cdx.json'), packages);
if (packagesAreOurs(packages)) keepCompiled(join(program, 'src/main.js'));
// A folder that "COPY" makes has the time of the build.
cpSync(program, join(image, program), { recursive: true, verbatimSymlinks: true });
setTimes(image, Number(process.env['SOURCE_DATE_EPOCH'] ?? 0));

/** Copies it with what loads it and every library it needs; gives the paths in the base. */
function copyProgram(path: string): readonly string[] {
  const { interpreter, libraries } = neededOf(path);
  if (interpreter === undefined) throw new CodedError('BUILD_BASE', `/${path} of the base is statically linked.`);
  const found = new Map<string, string>();
  const queue = [...libraries];
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (found.has(name) || name === basename(interpreter)) continue;
    const library = libraryNamed(name);
    found.set(name, library);
    queue.push(...neededOf(library).libraries);
  }
  const loader = interpreter.slice(1);
  copy(path, join(base, path));
  copy(loader, join(base, loader));
  const folder = dirname([...found.values()].find((one) => one.includes('-linux-gnu/')) ?? 'lib/x').replace(
    /^usr\//,
    '',
  );
  for (const [name, library] of found) copy(join(folder, name), join(base, library));
  return [loader, ...found.values()].map((one) =>
    realpathSync(join(base, one)).slice(base.length).replace(/^\/?/, '/'),
  );
}

function neededOf(path: string): ReturnType<typeof neededBy> {
  return neededBy(readFileSync(join(base, path)), `/${path} of the base`);
}

function libraryNamed(name: string): string {
  const [found] = globSync(
    libraryFolders.map((folder) => join(folder, name)),
    { cwd: base },
  );
  if (found === undefined) throw new CodedError('BUILD_BASE', `The base has no ${name}, which /${node} needs.`);
  return found;
}

function copy(path: string, from: string): void {
  if (!existsSync(from)) throw new CodedError('BUILD_BASE', `The base has no ${from}.`);
  mkdirSync(dirname(join(image, path)), { recursive: true });
  copyFileSync(realpathSync(from), join(image, path));
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(image, path)), { recursive: true });
  writeFileSync(join(image, path), text);
}

/** What was compiled for another architecture is of no use. */
function packagesAreOurs([first]: readonly DebianPackage[]): boolean {
  return first === undefined || first.architecture === { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
}

/**
 * Loads the code of every role once, so that what was compiled is part of the image; none of them can do anything here.
 * Node looks for it by user.
 */
function keepCompiled(main: string): void {
  const cache = join(program, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  chownSync(cache, user, user);
  const options = { uid: user, gid: user, timeout: 20_000, env: {} };
  for (const role of ['webhook', 'reconciler', 'query']) {
    spawnSync(process.execPath, [...reproducible, main, role], options);
  }
  const compiled = globSync('**', { cwd: cache }).map((path) => join(cache, path));
  if (compiled.length < 3) throw new CodedError('BUILD_COMPILED', `No role left compiled code in ${cache}.`);
  for (const path of [cache, ...compiled]) {
    chownSync(path, 0, 0);
    chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
  }
}

/** The same files with the same times are the same layer, whenever it is built. */
function setTimes(folder: string, seconds: number): void {
  // A glob would leave out what begins with a dot, such as the compiled code.
  for (const path of ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]) {
    lutimesSync(join(folder, path), seconds, seconds);
  }
}
