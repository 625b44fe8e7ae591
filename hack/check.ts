// Every check that needs no server, cheapest first. `--fix` repairs what can be repaired.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const fix = process.argv.includes('--fix');

const steps: readonly { readonly name: string; readonly command: readonly string[] }[] = [
  { name: 'format', command: ['biome', 'check', ...(fix ? ['--write'] : []), '.'] },
  { name: 'generated files', command: ['node', 'hack/generate/main.ts', ...(fix ? [] : ['--check'])] },
  { name: 'words', command: ['node', 'hack/words.ts'] },
  { name: 'types', command: ['../typescript-native/bin/tsc', '--noEmit'] },
  { name: 'types of the page', command: ['../typescript-native/bin/tsc', '--noEmit', '-p', 'src/query/ui'] },
  {
    name: 'arrows between folders',
    command: ['depcruise', '--config', '.dependency-cruiser.mjs', 'src', 'webhooks', 'hack', 'test'],
  },
  { name: 'unused code', command: ['knip', '--no-progress'] },
  // What only tests and tools call.
  { name: 'unused code of the product', command: ['knip', '--no-progress', '--production'] },
  { name: 'lint', command: ['oxlint', ...(fix ? ['--fix'] : []), '--deny-warnings', '.'] },
];

for (const { name, command } of steps) {
  const [program = '', ...args] = command;
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(join(root, 'node_modules/.bin', program), args, {
    cwd: root,
    encoding: 'utf8',
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${status === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)\n`);
  if (status !== 0) {
    process.stdout.write(
      `${stdout}${stderr}\nFailed: ${command.join(' ')}. "npm run fix" repairs what can be repaired.\n`,
    );
    process.exit(1);
  }
}
