// Adds to package-lock.json the optional packages of other platforms. npm leaves them out where the registry does not
// have them, and then "npm ci" refuses the file. Run it after "npm install" when the lock file test fails.
import { readFileSync, writeFileSync } from 'node:fs';

const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', 'aix', 'sunos', 'openbsd', 'netbsd'];
const processors = ['arm64', 'x64', 'arm', 'ppc64', 'riscv64', 's390x', 'ia32', 'loong64'];

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));

/** The platform is part of the name, e.g. `@biomejs/cli-linux-arm64-musl`. */
function entryFor(name, version, dev) {
  const parts = name.split(/[/-]/);
  const os = systems.filter((system) => parts.includes(system));
  const libc = os[0] !== 'linux' ? undefined : /musl/.test(name) ? 'musl' : /gnu/.test(name) ? 'glibc' : undefined;
  return {
    version,
    cpu: processors.filter((processor) => parts.includes(processor)),
    ...(dev ? { dev: true } : {}),
    ...(libc === undefined ? {} : { libc: [libc] }),
    optional: true,
    os,
  };
}

for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const known = [`node_modules/${name}`, `${path}/node_modules/${name}`].some((place) => place in lock.packages);
    if (!known && /^\d/.test(version)) lock.packages[`node_modules/${name}`] = entryFor(name, version, dev);
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([left], [right]) => (left < right ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);
