// A role is a pod, and a pod that ends is started again, as in a cluster: the demo tells of it and goes on.
import { join } from 'node:path';
import { isAborted } from '../../src/base/abort.ts';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { binOf } from './commands.ts';
import type { DemoCluster } from './demo-cluster.ts';
import type { Narrator } from './narrator.ts';

const EVERY_MS = 2000;
const SYSTEM = 'ingester-system';
const container = '.status.containerStatuses[0]';
const line = `{.metadata.name} {${container}.restartCount} {${container}.lastState.terminated.exitCode}`;
const list = ['get', 'pods', '-n', SYSTEM, '-o', `jsonpath={range .items[*]}${line}{"\\n"}{end}`];

export async function tellOfRestarts(
  access: DemoCluster['access'],
  narrator: Narrator,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, number>();
  while (!isAborted(signal)) {
    const { stdout } = await access.kubectlRun(list, { allowFailure: true });
    for (const [pod = '', restarts, exitCode = ''] of stdout.split('\n').map((text) => text.split(' '))) {
      const count = Number(restarts);
      if (count > (known.get(pod) ?? count)) {
        narrator.say(`The pod ${pod} died with exit code ${exitCode}; the cluster runs it again. Its log before that:`);
        narrator.command(`${join(binOf(access), 'kubectl')} logs --previous -n ${SYSTEM} ${pod}`);
      }
      known.set(pod, count);
    }
    await sleep(systemClock, EVERY_MS, signal);
  }
}
