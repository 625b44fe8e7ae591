import type { DemoMysql } from './demo-cluster.ts';
import type { Narrator } from './narrator.ts';

/** Stops MySQL where it runs and starts it where it does not; a key that is pressed meanwhile counts for nothing. */
export function mysqlKey(mysql: DemoMysql, narrator: Narrator): () => Promise<void> {
  let turning = false;
  return async () => {
    if (turning) return;
    turning = true;
    if (mysql.running) {
      narrator.passing('stopping MySQL');
      await mysql.stop();
      narrator.say(
        'MySQL is stopped. Within 15 seconds the first command says so; the page has no answer; and models that',
      );
      narrator.say('are deleted wait in the cluster. Press m to start MySQL again.');
    } else {
      narrator.passing('starting MySQL');
      await mysql.start();
      narrator.say('MySQL is started again: within seconds it has what happened, and what waited leaves the cluster.');
    }
    turning = false;
  };
}
