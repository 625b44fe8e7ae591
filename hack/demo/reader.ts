// The last part of the demo is the reader's: an address, three commands, small changes, and a key for MySQL.
import { untilAborted } from '../../src/base/abort.ts';
import { MOST, makeChanges } from './changes.ts';
import { binOf } from './commands.ts';
import { CTRL_C, onKeys } from './keys.ts';
import { mysqlKey } from './mysql-key.ts';
import type { Narrator } from './narrator.ts';
import { tellOfRestarts } from './pods.ts';
import type { Stage } from './stage.ts';
import { NS } from './story.ts';

/** Until `stop` is aborted, by a key or otherwise. */
export async function handOver(stage: Stage, narrator: Narrator, stop: AbortController): Promise<void> {
  const { access, mysql } = stage.cluster;
  explain(stage, narrator);
  const failed = Promise.withResolvers<never>();
  const turnMysql = mysqlKey(mysql, narrator);
  const end = (): void => stop.abort();
  const keys = new Map([
    ['m', () => void turnMysql().catch(failed.reject)],
    ['q', end],
    [CTRL_C, end],
  ]);
  const release = onKeys(process.stdin, keys);
  try {
    const changes = makeChanges(access, narrator, stop.signal);
    const restarts = tellOfRestarts(access, narrator, stop.signal);
    await Promise.race([untilAborted(stop.signal), changes, restarts, failed.promise]);
  } finally {
    release();
  }
}

function explain({ address, cluster, commands }: Stage, narrator: Narrator): void {
  narrator.chapter('It is yours');
  narrator.say(`Everything took ${narrator.seconds()} s. The page is here; it needs no login, and only reads:`);
  narrator.output(address);
  narrator.say('Three commands, for another terminal:');
  for (const { line } of commands) narrator.command(line);
  narrator.say('After this line kubectl and its plugin work there, and restore and delete what the page shows:');
  narrator.output(`export PATH='${binOf(cluster.access)}':"$PATH"`);
  narrator.say(`The objects are in namespace ${NS}: add -n ${NS}, also to the commands of docs/query.md.`);
  narrator.say(`Every few seconds a model comes or goes, and at most ${MOST} stay: reload the page to see them.`);
  const keys = 'Press m to stop MySQL and to start it again, q or Ctrl-C to end everything.';
  narrator.say(process.stdin.isTTY ? keys : 'It stays up until Ctrl-C.');
}
