// Writes every generated file, or with --check says which are not fresh.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { allKinds } from '../../src/api/kinds.ts';
import { crdOutputs } from './crds/outputs.ts';
import { docsOutputs } from './docs.ts';
import { manifestOutputs } from './manifests.ts';
import { migrationOutputs } from './migrations.ts';
import type { Output } from './output.ts';
import { protoOutputs } from './proto/outputs.ts';

const root = join(import.meta.dirname, '../..');

async function outputs(): Promise<readonly Output[]> {
  return [
    ...(await protoOutputs()),
    ...(await crdOutputs(allKinds)),
    ...migrationOutputs(allKinds),
    ...manifestOutputs(allKinds),
    ...docsOutputs(allKinds),
  ];
}

function current(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    // A missing file is the same as a stale one.
    return undefined;
  }
}

function write({ path, content }: Output): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const stale = (await outputs()).filter(({ path, content }) => current(path) !== content);
if (process.argv.includes('--check')) {
  for (const { path } of stale) process.stderr.write(`${path} is not fresh\n`);
  if (stale.length > 0) process.stderr.write('Run "npm run generate" and commit the result.\n');
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  stale.forEach(write);
  process.stdout.write(stale.length === 0 ? 'Everything is fresh.\n' : `${stale.map(({ path }) => path).join('\n')}\n`);
}
