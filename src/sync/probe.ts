// Whether the bundle guards new objects: the API server is asked for the dry run of a create, and its answer must carry
// the finalizer. Nothing is stored.
import { GROUP, VERSION } from '../api/names.ts';
import { hasFinalizer } from '../api/object.ts';
import { isAborted } from '../base/abort.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { ProbeFailedError } from './errors.ts';

export interface ProbeOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** In which the create would be; it has to exist. */
  readonly namespace: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Told why the last try was none, each time the reason changes. */
  readonly progress: (reason: string) => void;
}

const PROJECTS: Resource = { group: GROUP, version: VERSION, plural: 'projects' };
const BETWEEN_TRIES_MS = 1000;

/** Resolves once a new object is guarded; throws ProbeFailedError with the last reason when the time is over. */
export async function probe(options: ProbeOptions): Promise<void> {
  const { clock, timeoutMs, signal, progress } = options;
  const deadline = clock.monotonicMs() + timeoutMs;
  let reported = '';
  for (;;) {
    const reason = await reasonOf(options);
    if (reason === undefined) return;
    if (reason !== reported) progress(reason);
    reported = reason;
    if (isAborted(signal) || clock.monotonicMs() >= deadline) throw new ProbeFailedError(reason);
    await sleep(clock, BETWEEN_TRIES_MS, signal);
  }
}

async function reasonOf({ client, namespace }: ProbeOptions): Promise<string | undefined> {
  try {
    return await whyUnguarded(client, namespace);
  } catch (error) {
    return messageOf(error);
  }
}

/** Why a new object would not be guarded; undefined if it would be. Throws where the API server refuses it. */
export async function whyUnguarded(client: Pick<KubeClient, 'create'>, namespace: string): Promise<string | undefined> {
  const project = {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: 'Project',
    metadata: { name: 'ingester-probe', namespace },
    // What the field rules ask for, so that the strictest configuration accepts it.
    spec: {
      description: 'dry run of the probe',
      owner: { owningTeam: '00000000-0000-4000-8000-000000000000' },
      gitRepo: 'https://example.com/probe',
      rootDir: '.',
      tier: 5,
      commit: { gitRef: 'probe', branch: 'probe' },
    },
  };
  const created = await client.create(PROJECTS, namespace, project, { dryRun: true });
  if (hasFinalizer(created)) return undefined;
  return 'a new object is accepted without the finalizer: admission is not installed, or metadata storage is off';
}
