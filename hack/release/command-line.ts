// The options of "npm run release".
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CodedError, messageOf } from '../../src/base/errors.ts';
import { imageParts } from './image.ts';

const root = join(import.meta.dirname, '../..');

export const HELP = `npm run release -- [options]  writes what a release consists of, and names each file

  --image <image>    the image with its tag or digest, for the manifests and the chart; unless given they say
                     michelangelo-ingester and the version of this checkout
  --folder <folder>  where the files go; dist unless given
  --download <url>   where the files of the release will be downloaded from, for krew.yaml
  --kubectl <path>   kubectl, which renders the manifests; that on PATH unless given
  -h, --help         this text

npm run release -- --image registry.example/michelangelo-ingester:0.1.0

  program/, program.tar.gz        the built program, as a folder and as one file
  chart/                          the Helm chart; "helm package dist/chart" makes one file of it
  install.yaml, install-*.yaml    the manifests for kubectl
  uninstall.yaml                  the Job that uninstalls
  krew.yaml                       how Krew installs the plugin of kubectl, with --download
`;

export interface CommandLine {
  readonly help: boolean;
  readonly folder: string;
  readonly kubectl: string;
  readonly image: string | undefined;
  readonly download: string | undefined;
}

/** Throws an error with one line for the user where something is wrong. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { help, folder, kubectl, image, download } = optionsOf(args);
  // Before anything is built: a wrong image would be found in the cluster only.
  if (image !== undefined) imageParts(image);
  return { help, folder: resolve(folder), kubectl, image, download };
}

function optionsOf(args: readonly string[]): CommandLine {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        image: { type: 'string' },
        download: { type: 'string' },
        folder: { type: 'string', default: join(root, 'dist') },
        kubectl: { type: 'string', default: 'kubectl' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return { ...values, image: values.image, download: values.download };
  } catch (error) {
    // Node goes on with advice about arguments that there are none of here.
    const [problem = ''] = messageOf(error).split(/\.? *(?:\n|$)|\. /);
    throw new CodedError('RELEASE_OPTIONS', `${problem}. "npm run release -- --help" names the options.`);
  }
}
