// Writes every generated file, or with --check says which are not fresh. With --from FOLDER it takes the protobuf definitions of
// a newer original first, with --kubernetes those of pod templates, which needs Go.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { allKinds } from '../../src/kinds/kinds.ts';
import { argocdExtensionOutput } from './argocd-extension.ts';
import { ingesterCrdOutput } from './crds/ingester.ts';
import { crdOutputs, openFieldsOf } from './crds/outputs.ts';
import { dashboardOutput } from './dashboard.ts';
import { docsOutputs } from './docs.ts';
import { gitopsOutputs } from './gitops/outputs.ts';
import { lifecycleOutputs } from './lifecycle.ts';
import { manifestOutputs } from './manifests.ts';
import { metricsOutput } from './metrics.ts';
import { migrationOutputs } from './migrations.ts';
import { namesOutputs } from './names.ts';
import type { Output } from './output.ts';
import { podOutputs } from './pods.ts';
import { protoOutputs } from './proto/outputs.ts';
import { removalOutputs } from './removal.ts';
import { pageOutput } from './ui.ts';
import { vitessOutputs } from './vitess.ts';

/** Manifests with expressions that name parts of the bundle. */
const ADMISSION = /config\/(base\/webhook|components\/(admission-policies|deletion-protection))\//;
const root = join(import.meta.dirname, '../..');

async function outputs(): Promise<readonly Output[]> {
  const manifests = manifestOutputs(allKinds, await openFieldsOf(allKinds.filter((kind) => !kind.optional)));
  const admission = [...manifests, ...removalOutputs(allKinds)].filter(({ path }) => ADMISSION.test(path));
  return [
    ...(await protoOutputs(allKinds)),
    ...(await crdOutputs(allKinds)),
    ingesterCrdOutput(),
    ...lifecycleOutputs(),
    ...migrationOutputs(allKinds),
    ...vitessOutputs(allKinds),
    ...manifests,
    ...podOutputs(),
    ...removalOutputs(allKinds),
    ...namesOutputs(admission),
    ...docsOutputs(allKinds),
    ...gitopsOutputs(allKinds),
    await argocdExtensionOutput(allKinds),
    await pageOutput(),
    metricsOutput(),
    dashboardOutput(),
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

if (process.argv.includes('--kubernetes')) await import('./kubernetes.ts');
const fromAt = process.argv.indexOf('--from');
if (fromAt > 0) await takeDefinitions(process.argv[fromAt + 1] ?? '');
else await generate();

/** Definitions of a newer original; the catalogue is read anew by the run that writes the rest. */
async function takeDefinitions(folder: string): Promise<void> {
  const { updatesFrom } = await import('./proto/from.ts');
  const taken = await updatesFrom(folder, readFileSync(join(root, 'src/kinds/catalogue.ts'), 'utf8'));
  taken.outputs.forEach(write);
  process.stdout.write(taken.news.map((one) => `new: ${one}\n`).join(''));
  execFileSync(join(root, 'node_modules/.bin/biome'), ['format', '--write', 'src/kinds/catalogue.ts'], { cwd: root });
  execFileSync(process.execPath, [import.meta.filename], { cwd: root, stdio: 'inherit' });
}

async function generate(): Promise<void> {
  const stale = (await outputs()).filter(({ path, content }) => current(path) !== content);
  if (process.argv.includes('--check')) {
    for (const { path } of stale) process.stderr.write(`${path} is not fresh\n`);
    if (stale.length > 0) process.stderr.write('Run "npm run generate" and commit the result.\n');
    process.exitCode = stale.length > 0 ? 1 : 0;
  } else {
    stale.forEach(write);
    process.stdout.write(
      stale.length === 0 ? 'Everything is fresh.\n' : `${stale.map(({ path }) => path).join('\n')}\n`,
    );
  }
}
