// Runs a task again and again over a connection that breaks at the first statement that was not cut yet: first before it
// arrives, in the next run before its answer does. So the task dies once on each side of each of its statements.
import assert from 'node:assert/strict';
import { startMysqlProxy, type Verdict } from './mysql-proxy.ts';

const CHANGES = /^(?:CREATE|ALTER|DROP|RENAME|INSERT|UPDATE|DELETE|COMMIT)\b/;
const MOST_RUNS = 400;

export interface Cuts {
  readonly runs: number;
  /** Statements that were carried out while the run that sent them died. */
  readonly cut: ReadonlySet<string>;
}

/** `run` gets the address to connect to; what it sends has to be the same in every run. */
export async function cutEverywhere(
  target: { readonly host: string; readonly port: number },
  run: (address: { readonly host: string; readonly port: number }) => Promise<unknown>,
  only?: RegExp,
): Promise<Cuts> {
  const cut = { before: new Set<string>(), after: new Set<string>() };
  for (let runs = 1; ; runs += 1) {
    let last = '';
    const judge = (sql: string): Verdict => {
      if (!CHANGES.test(sql) || !(only?.test(sql) !== false || sql === 'COMMIT')) return 'pass';
      // What a COMMIT commits is what makes it another one.
      last = sql === 'COMMIT' ? `COMMIT after ${last}` : sql;
      const moment = (['before', 'after'] as const).find((one) => !cut[one].has(last));
      if (moment === undefined) return 'pass';
      cut[moment].add(last);
      return `cut-${moment}`;
    };
    const proxy = await startMysqlProxy(target, judge);
    const error = await run({ host: proxy.host, port: proxy.port }).then(
      () => undefined,
      (reason: unknown) => reason as { code: string },
    );
    await proxy.close();
    if (error === undefined) return { runs, cut: cut.after };
    assert.equal(error.code, 'STORAGE_UNAVAILABLE', `run ${runs}: ${JSON.stringify(error)}`);
    assert.ok(runs < MOST_RUNS, `no end in sight at ${last}`);
  }
}
