import { type Command, Option } from 'commander';
import { stringify } from 'yaml';
import { annotate, type Manifest, type ManifestStream, RenderInputError, readManifests } from '../gitops/render.ts';
import {
  FLUX_SSA,
  placeholder,
  type Tool,
  tombstoneAnnotations,
  tombstoneComponent,
  tombstoneConfigMap,
} from '../gitops/tombstone.ts';
import { prepareCommand } from './prepare.ts';
import { printWhole } from './print.ts';

interface Options {
  readonly output: 'manifests' | 'patch' | 'configmap' | 'placeholders';
  readonly for: readonly Tool[];
  readonly namespace?: string;
  readonly configmapName: string;
  readonly configmapNamespace: string;
}

/** Of one ConfigMap, by Kubernetes; some room is left for its metadata. */
const MAX_CONFIGMAP_BYTES = 1_000_000;
const MAX_INPUT_BYTES = 256 * 1024 * 1024;

export function addRenderCommand(program: Command): void {
  program
    .command('render')
    .description('read rendered manifests on stdin and mark those whose objects are archived in MySQL')
    .addOption(
      new Option('-o, --output <what>', 'what to write to stdout')
        .choices(['manifests', 'patch', 'configmap', 'placeholders'])
        .default('manifests'),
    )
    .addOption(
      new Option('--for <tool...>', 'tools to mark for').choices(['argocd', 'flux']).default(['argocd', 'flux']),
    )
    .addOption(new Option('--namespace <name>', 'namespace of manifests without one').env('ARGOCD_APP_NAMESPACE'))
    .option('--configmap-name <name>', 'name of the ConfigMap of -o configmap', 'ingester-tombstones')
    .option('--configmap-namespace <name>', 'namespace of the ConfigMap of -o configmap', 'flux-system')
    .addHelpText(
      'after',
      '\nmanifests: the input, with a mark on archived objects. patch: a kustomize component with those marks.\n' +
        'configmap: for postBuild.substituteFrom of Flux, with the variables that placeholders puts into manifests.\n' +
        'An empty input, an unreachable MySQL or an unreachable API server is a failure, and nothing is written.',
    )
    .action((options: Options) => runRenderCommand(program, options));
}

async function runRenderCommand(program: Command, options: Options): Promise<void> {
  const stream = readManifests(await readInput(), options.namespace);
  const text = await rendered(program, stream, options);
  await printWhole(text);
}

async function rendered(program: Command, stream: ManifestStream, options: Options): Promise<string> {
  if (options.output === 'placeholders') {
    return annotate(stream, stream.manifests, (manifest) => ({ [FLUX_SSA]: placeholder(manifest) }));
  }
  const { archivedOf } = await import('../app/commands/render.ts');
  const archived = await archivedOf(prepareCommand(program, 'render').configuration, stream.manifests);
  switch (options.output) {
    case 'manifests':
      return annotate(stream, archived, () => tombstoneAnnotations(options.for));
    case 'patch':
      return stringify(tombstoneComponent(archived, options.for), { lineWidth: 0 });
    case 'configmap':
      return configMap(archived, options);
  }
}

function configMap(archived: readonly Manifest[], { configmapName, configmapNamespace }: Options): string {
  const text = stringify(tombstoneConfigMap({ name: configmapName, namespace: configmapNamespace }, archived));
  if (Buffer.byteLength(text) <= MAX_CONFIGMAP_BYTES) return text;
  throw new RenderInputError(
    1,
    `${archived.length} tombstones do not fit one ConfigMap; render fewer manifests at once`,
  );
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_INPUT_BYTES) throw new RenderInputError(1, `the input is larger than ${MAX_INPUT_BYTES} bytes`);
  }
  return Buffer.concat(chunks).toString('utf8');
}
