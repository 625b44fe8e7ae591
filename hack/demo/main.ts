// npm run demo: starts everything on this machine, tells the story, and stays up for the reader until q or Ctrl-C.
// npm run demo -- --once: ends after the story and the commands for the reader, with exit code 0 or 1.
import { untilAborted } from '../../src/base/abort.ts';
import { messageOf } from '../../src/base/errors.ts';
import { ServerDied, whileAllRun } from '../local/server-died.ts';
import { runEach } from './commands.ts';
import { startProcesses } from './demo-cluster.ts';
import { startKind } from './kind-cluster.ts';
import { Narrator } from './narrator.ts';
import { handOver } from './reader.ts';
import { type Stage, startStage } from './stage.ts';
import { Story } from './story.ts';

const HELP = `npm run demo            install the bundle on a control plane, a node and MySQL of this machine, show the main
                        job of the product, and stay up until q or Ctrl-C
npm run demo -- --once  the same, but end after the story (exit code 0 or 1)
npm run demo -- --kind  the same in containers: on a kind cluster, which needs Docker; its first time takes minutes more
`;

const known = ['--once', '--kind', '--', '--help', '-h'];
const flags = process.argv.slice(2);
const kind = flags.includes('--kind');
const narrator = new Narrator();
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // What runs is watched from outside this process, so even leaving at once leaves nothing behind.
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  });
}
stop.signal.addEventListener('abort', () => narrator.progress('stopping everything; once more to leave at once'));

/** Tells the story, then runs the commands for the reader, or leaves them and all the rest to the reader. */
async function play(stage: Stage): Promise<void> {
  const { access, mysql } = stage.cluster;
  const list = ['get', 'pods', '-n', 'ingester-system', '-o', 'wide'];
  narrator.command(`kubectl ${list.join(' ')}`);
  narrator.output((await access.kubectlRun(list)).stdout);
  narrator.proved(`${mysql.title} has its tables; every role runs as pods of the shipped manifests.`);
  await Promise.race([new Story(stage.cluster, narrator).tell(), untilAborted(stop.signal)]);
  stop.signal.throwIfAborted();
  if (flags.includes('--once')) await runEach(stage.commands, narrator);
  else await handOver(stage, narrator, stop);
}

/** Exit code: 0 when the demo ran to its end, 130 when the user stopped it before, 1 when it failed. */
async function main(): Promise<number> {
  let stage: Stage | undefined;
  try {
    const options = { progress: (message: string) => narrator.progress(message), signal: stop.signal };
    narrator.chapter(`Starting Kubernetes, MySQL and the bundle ${kind ? 'in containers' : 'on loopback'}`);
    stage = await startStage(() => (kind ? startKind(options) : startProcesses(options)));
    await whileAllRun(stage.servers, play(stage));
    await stage.stop();
    process.stdout.write(`\nDemo passed in ${narrator.seconds()} s.\n`);
    return 0;
  } catch (error) {
    const stopped = stop.signal.aborted;
    if (!stopped) await reportFailure(error, stage);
    stop.abort();
    await stage?.stop();
    return stopped ? 130 : 1;
  }
}

async function reportFailure(error: unknown, stage: Stage | undefined): Promise<void> {
  process.stderr.write(`\nThe demo failed: ${messageOf(error)}\n`);
  if (stage === undefined || error instanceof ServerDied) return;
  const { stdout } = await stage.cluster.access.kubectlRun(
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
