// npm run demo: starts everything on this machine, tells the story, and stays up until Ctrl-C.
// npm run demo -- --once: ends after the story, with exit code 0 or 1.
import { untilAborted } from '../../src/base/abort.ts';
import { messageOf } from '../../src/base/errors.ts';
import { type PodBundle, startPodBundle } from '../local/pod-bundle.ts';
import { Narrator } from './narrator.ts';
import { Story } from './story.ts';

const HELP = `npm run demo            install the bundle on a control plane, a node and MySQL of this machine, show the main
                        job of the product, and stay up until Ctrl-C
npm run demo -- --once  the same, but end after the story (exit code 0 or 1)
`;

const known = ['--once', '--', '--help', '-h'];
const flags = process.argv.slice(2);
const narrator = new Narrator();
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // What runs is watched from outside this process, so even leaving at once leaves nothing behind.
    if (stop.signal.aborted) process.exit(130);
    narrator.progress('stopping everything; once more to leave at once');
    stop.abort();
  });
}

function explainUse(bundle: PodBundle): void {
  const { controlPlane, server, database } = bundle;
  narrator.chapter('It is yours');
  narrator.say(`Everything took ${narrator.seconds()} s and stays up until Ctrl-C. In another terminal:`);
  narrator.command(`export KUBECONFIG=${controlPlane.kubeconfig} PATH=${controlPlane.binDir}:$PATH`);
  narrator.command('kubectl get models.michelangelo.api -A');
  narrator.command(server.clientCommand(database.name).join(' '));
  narrator.say('The logs of the two roles:');
  narrator.command(`kubectl logs -f -n ingester-system deployment/ingester-reconciler`);
  narrator.command(`kubectl logs -f -n ingester-system deployment/ingester-webhook`);
}

/** Tells the story, then waits for Ctrl-C unless told to end. */
async function play(bundle: PodBundle): Promise<void> {
  const list = ['get', 'pods', '-n', 'ingester-system', '-o', 'wide'];
  narrator.command(`kubectl ${list.join(' ')}`);
  narrator.output(await bundle.kubectl(...list));
  const { flavour, version } = bundle.server;
  narrator.proved(`${flavour} ${version} has its tables; webhook and reconciler run as pods of the shipped manifests.`);
  await Promise.race([new Story(bundle, narrator).tell(), untilAborted(stop.signal)]);
  stop.signal.throwIfAborted();
  if (flags.includes('--once')) return;
  explainUse(bundle);
  await untilAborted(stop.signal);
}

/** Exit code: 0 when the demo ran to its end, 130 when the user stopped it before, 1 when it failed. */
async function main(): Promise<number> {
  let bundle: PodBundle | undefined;
  try {
    narrator.chapter('Starting Kubernetes, MySQL and the bundle on loopback');
    bundle = await startPodBundle({ progress: (message) => narrator.progress(message), signal: stop.signal });
    await play(bundle);
    await bundle.stop();
    process.stdout.write(`\nDemo passed in ${narrator.seconds()} s.\n`);
    return 0;
  } catch (error) {
    if (!stop.signal.aborted) await reportFailure(error, bundle);
    await bundle?.stop();
    return stop.signal.aborted ? 130 : 1;
  }
}

async function reportFailure(error: unknown, bundle: PodBundle | undefined): Promise<void> {
  process.stderr.write(`\nThe demo failed: ${messageOf(error)}\n`);
  if (bundle === undefined) return;
  const { stdout } = await bundle.controlPlane.kubectlRun(
    ['logs', '-n', 'ingester-system', '-l', 'app.kubernetes.io/component=reconciler', '--tail=20', '--prefix'],
    { allowFailure: true },
  );
  process.stderr.write(`The reconcilers' last lines:\n${stdout}\n`);
}

const unknown = flags.filter((flag) => !known.includes(flag));
if (unknown.length > 0) {
  process.stderr.write(`Unknown option ${unknown.join(' ')}.\n${HELP}`);
  process.exitCode = 2;
} else if (flags.includes('--help') || flags.includes('-h')) {
  process.stdout.write(HELP);
} else {
  process.exitCode = await main();
}
