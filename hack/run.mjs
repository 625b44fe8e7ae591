// Runs a script of this repository on the Node version it pins, whatever Node the system has.
// Installs the locked dependencies first when they are missing or older than the lock file.
// Plain JavaScript on purpose: this file must run on any Node from 18 on.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pinned = join(root, 'node_modules/.bin/node');
const wantedMajor = 24;

function installIsCurrent() {
  const stamp = join(root, 'node_modules/.package-lock.json');
  return existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

function install() {
  process.stderr.write('Installing the locked npm dependencies (npm ci) ...\n');
  const started = Date.now();
  const npm = process.env.npm_execpath;
  const [command, prefix] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  const result = spawnSync(command, [...prefix, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (result.status !== 0) {
    process.stderr.write(
      'npm ci failed. Check the network and the npm registry setting, then run the command again.\n',
    );
    process.exit(1);
  }
  process.stderr.write(`Installed in ${Math.round((Date.now() - started) / 1000)} s.\n`);
}

/** The pinned Node where npm has one for this platform, else the running one. */
function chooseNode() {
  const node = existsSync(pinned) ? pinned : process.execPath;
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? 'none';
  if (Number(version.slice(1).split('.')[0]) === wantedMajor) return node;
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  process.stderr.write(
    `This project runs on Node ${wantedMajor}; found ${version} (${node}).\n` +
      `npm pins Node for: ${Object.keys(optionalDependencies).join(', ')}.\n` +
      `Run "npm ci" without --omit=optional, or put Node ${wantedMajor} on PATH.\n`,
  );
  process.exit(1);
}

if (!installIsCurrent()) install();
const node = chooseNode();
const child = spawn(node, process.argv.slice(2), {
  stdio: 'inherit',
  env: {
    // Programs that start again and again, like the tests' roles, are compiled once; npm ci empties it.
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
    ...process.env,
    PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH ?? ''}`,
  },
});
// A terminal sends Ctrl-C to the whole group; the script decides when to stop, this wrapper only waits.
process.on('SIGINT', () => undefined);
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
