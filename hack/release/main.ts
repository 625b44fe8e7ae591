// npm run release -- --image registry.example/michelangelo-ingester@sha256:...: what a release consists of, into dist.
import { join } from 'node:path';
import { messageOf } from '../../src/base/errors.ts';
import { buildProgram } from '../build/program.ts';
import { writeChart } from './chart.ts';
import { type CommandLine, HELP, readCommandLine } from './command-line.ts';
import { writeReleaseManifests } from './manifests.ts';
import { writePlugin } from './plugin.ts';

async function release({ folder, kubectl, image, download }: CommandLine): Promise<void> {
  await buildProgram(join(folder, 'program'), process.env['COMMIT']);
  const manifests = await writeReleaseManifests({ kubectl, folder, image });
  await writeChart({ kubectl, folder: join(folder, 'chart'), image });
  const plugin = await writePlugin({ folder, download });
  process.stdout.write(`${[join(folder, 'program'), join(folder, 'chart'), ...manifests, ...plugin].join('\n')}\n`);
}

function wanted(): CommandLine | undefined {
  try {
    return readCommandLine(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

const commandLine = wanted();
if (commandLine?.help === true) process.stdout.write(HELP);
else if (commandLine !== undefined) await release(commandLine);
