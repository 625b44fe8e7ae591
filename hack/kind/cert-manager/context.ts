// node hack/kind/cert-manager/context.ts <folder>: puts cert-manager's programs and its manifests, as its own chart renders
// them, into the folder. Prints its version.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CodedError } from '../../../src/base/errors.ts';
import { kubernetesVersion } from '../../local/control-plane-build.ts';
import { goModuleFolder } from '../../local/go-module.ts';
import { findGoProgram, type GoProgram, gitopsPrograms, goPrograms } from '../../local/go-program.ts';
import { progressOnStderr } from '../../local/progress.ts';
import { runCommand } from '../../local/run-command.ts';

const folder = resolve(process.argv[2] ?? '.');
const sources = join(import.meta.dirname, '../../local/cert-manager');
const name = 'github.com/cert-manager/cert-manager';

copyFileSync(await find(gitopsPrograms.certManager), join(folder, 'cert-manager'));
const helm = await find(goPrograms.helm);
const version = new RegExp(`${name} (v\\S+)`).exec(readFileSync(join(sources, 'go.mod'), 'utf8'))?.[1] ?? '';
const chart = join(await goModuleFolder(name, sources), 'deploy/charts/cert-manager');
const tags = ['image', 'webhook.image', 'cainjector.image'].map((image) => `${image}.tag=${version}`);
// The job that waits for the webhook is a program of its own; what waits here is kubectl.
const values = [...tags, 'crds.enabled=true', 'startupapicheck.enabled=false'].flatMap((value) => ['--set', value]);
const cluster = ['--namespace', 'cert-manager', '--kube-version', kubernetesVersion()];
const rendered = await runCommand(helm, ['template', 'cert-manager', chart, ...cluster, ...values]);
if (rendered.code !== 0) throw new CodedError('LOCAL_BUILD_FAILED', `cert-manager's chart: ${rendered.stderr.trim()}`);
writeFileSync(join(folder, 'manifests.yaml'), rendered.stdout);
process.stdout.write(`${version}\n`);

async function find(program: GoProgram): Promise<string> {
  const found = await findGoProgram(program, { env: process.env, progress: progressOnStderr, signal: undefined });
  if (found !== undefined) return found;
  throw new CodedError('LOCAL_BUILD_FAILED', `Go is needed to build ${program.what}.`);
}
