// npm run demo: starts everything on this machine, tells the story, and stays up until Ctrl-C.
// npm run demo -- --once: ends after the story, with exit code 0 or 1.
import { untilAborted } from '../../src/base/abort.ts';
import { messageOf } from '../../src/base/errors.ts';
import { type Bundle, startBundle } from '../local/bundle.ts';
import { logTail } from '../local/log-tail.ts';
import { Narrator } from './narrator.ts';
import { Story } from './story.ts';

const HELP = `npm run demo            start a control plane, MySQL, the webhook and the reconciler on loopback, show the
                        main job of the product, and stay up until Ctrl-C
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

function explainUse(bundle: Bundle): void {
  const { controlPlane, server, database } = bundle;
  narrator.chapter('It is yours');
  narrator.say(`Everything took ${narrator.seconds()} s and stays up until Ctrl-C. In another terminal:`);
  narrator.command(`export KUBECONFIG=${controlPlane.kubeconfig} PATH=${controlPlane.binDir}:$PATH`);
  narrator.command('kubectl get models.michelangelo.api -A');
  narrator.command(server.clientCommand(database.name).join(' '));
  narrator.say('The logs of the two roles:');
  narrator.command(`tail -f ${bundle.reconciler.logFile} ${bundle.webhook.logFile}`);
}

/** Tells the story, then waits for Ctrl-C unless told to end. */
async function play(bundle: Bundle): Promise<void> {
  narrator.proved(
    `Control plane, ${bundle.server.flavour} ${bundle.server.version}, webhook and reconciler are running.`,
  );
  await Promise.race([new Story(bundle, narrator).tell(), untilAborted(stop.signal)]);
  stop.signal.throwIfAborted();
  if (flags.includes('--once')) return;
  explainUse(bundle);
  await untilAborted(stop.signal);
}

/** Exit code: 0 when the story was told to its end, 130 when somebody stopped it before, 1 when it failed. */
async function main(): Promise<number> {
  let bundle: Bundle | undefined;
  try {
    narrator.chapter('Starting Kubernetes, MySQL and the bundle on loopback');
    bundle = await startBundle({ progress: (message) => narrator.progress(message), signal: stop.signal });
    await play(bundle);
    await bundle.stop();
    process.stdout.write(`\nDemo passed in ${narrator.seconds()} s.\n`);
    return 0;
  } catch (error) {
    if (!stop.signal.aborted) reportFailure(error, bundle);
    await bundle?.stop();
    return stop.signal.aborted ? 130 : 1;
  }
}

function reportFailure(error: unknown, bundle: Bundle | undefined): void {
  process.stderr.write(`\nThe demo failed: ${messageOf(error)}\n`);
  if (bundle !== undefined)
    process.stderr.write(`The reconciler's last lines:\n${logTail(bundle.reconciler.logFile)}\n`);
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
