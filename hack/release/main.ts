// npm run release -- --image registry.example/michelangelo-ingester@sha256:...: what a release consists of, into dist.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildProgram } from '../build/program.ts';
import { writeChart } from './chart.ts';
import { writeReleaseManifests } from './manifests.ts';
import { writePlugin } from './plugin.ts';

const root = join(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    image: { type: 'string' },
    // Where the files of the release will be, for Krew: https://git.example/ingester/releases/download/v1.0.0
    download: { type: 'string' },
    folder: { type: 'string', default: join(root, 'dist') },
    kubectl: { type: 'string', default: 'kubectl' },
  },
});
const folder = resolve(values.folder);
await buildProgram(join(folder, 'program'), process.env['COMMIT']);
const manifests = await writeReleaseManifests({ kubectl: values.kubectl, folder, image: values.image });
await writeChart({ kubectl: values.kubectl, folder: join(folder, 'chart'), image: values.image });
const plugin = await writePlugin({ folder, download: values.download });
process.stdout.write(`${[join(folder, 'program'), join(folder, 'chart'), ...manifests, ...plugin].join('\n')}\n`);
