// Small changes, so that there is something to watch. However long the demo stays up, and however long MySQL is away,
// they leave a few objects in the cluster at most.
import { isAborted } from '../../src/base/abort.ts';
import { sleep, systemClock } from '../../src/base/clock.ts';
import type { CommandResult } from '../local/run-command.ts';
import type { DemoCluster } from './demo-cluster.ts';
import type { Narrator } from './narrator.ts';
import { NS } from './story.ts';

const EVERY_MS = 4000;
export const MOST = 5;
const MODELS = 'models.michelangelo.api';
const labels = { demo: 'small-changes' };

/** What for is not known here: MySQL may be down, and the reconciler may be gone. */
const WAITING = `${MOST} deleted models wait; "kubectl ingester status" says for what`;

export interface ChangedModel {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
}

export type Change = 'create' | 'wait' | { readonly delete: string };

/** `models`: those that are there, the oldest first. */
export function nextChange(models: readonly ChangedModel[]): Change {
  if (models.length < MOST) return 'create';
  const oldest = models.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  return oldest === undefined ? 'wait' : { delete: oldest.metadata.name };
}

/** Makes one change after the other until it is stopped, and tells what kubectl says. What fails is left to the next. */
export async function makeChanges(
  access: DemoCluster['access'],
  narrator: Narrator,
  signal: AbortSignal,
): Promise<void> {
  for (let number = 1; !isAborted(signal); number += 1) {
    const { stdout, stderr } = await makeChange(access, `demo-${number}`);
    if (!isAborted(signal)) narrator.passing(`${stdout}${stderr}`);
    await sleep(systemClock, EVERY_MS, signal);
  }
}

/** `name` is that of a new model. */
async function makeChange(access: DemoCluster['access'], name: string): Promise<CommandResult> {
  const run = (args: readonly string[], input = ''): Promise<CommandResult> =>
    access.kubectlRun(args, { allowFailure: true, input });
  const list = ['get', MODELS, '-n', NS, '-l', 'demo', '--sort-by=.metadata.creationTimestamp', '-o', 'json'];
  const listed = await run(list);
  if (listed.code !== 0) return listed;
  const change = nextChange((JSON.parse(listed.stdout) as { readonly items: readonly ChangedModel[] }).items);
  if (change === 'wait') return { code: 0, stdout: WAITING, stderr: '' };
  if (change === 'create') {
    const spec = { algorithm: 'xgboost', description: 'A small change of the demo' };
    const model = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { name, namespace: NS, labels }, spec };
    return run(['create', '-f', '-'], JSON.stringify(model));
  }
  return run(['delete', MODELS, '-n', NS, change.delete, '--wait=false']);
}
