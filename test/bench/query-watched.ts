// How long a change takes from its commit to those who watch it, and what a thousand watches cost: twenty users of fifty watches each,
// each watch of one of fifty namespaces, and a hundred changes a second.
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { CodedError } from '../../src/base/errors.ts';
import { GROUP_PATH } from '../../src/query/names.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { aModelRow } from '../support/objects.ts';
import { type BenchReport, median, quantile, rounded } from './report.ts';

const WATCHES = 1000;
const USERS = 20;
const NAMESPACES = 50;
const CHANGES_PER_SECOND = 100;
const SECONDS = 20;
/** 2 KB, as the other benches have them. */
const DESCRIPTION = 'x'.repeat(1800);

export interface Watched {
  readonly port: number;
  readonly agent: Agent;
  readonly mysql: MysqlOptions;
  readonly server: ChildProcess;
}

export async function watched(report: BenchReport, { port, agent, mysql, server }: Watched): Promise<void> {
  /** When each version was committed. */
  const committed = new Map<string, number>();
  const delays: number[] = [];
  const open: (() => void)[] = [];
  const users = Array.from({ length: USERS }, async (_user, index) => {
    for (let watch = index; watch < WATCHES; watch += USERS) {
      const path = `${GROUP_PATH}/namespaces/watched-${watch % NAMESPACES}/models?watch=1&allowWatchBookmarks=true`;
      const { begun, end } = follow({ port, agent, path, user: `user-${index}` }, (version) => {
        const at = committed.get(version);
        if (at !== undefined) delays.push(performance.now() - at);
      });
      open.push(end);
      await begun;
    }
  });
  await Promise.all(users);
  const storage = new MysqlMetadataStorage(mysql, systemClock);
  const started = performance.now();
  let version = 1000;
  for (let tick = 0; tick < SECONDS * 10; tick += 1) {
    const batch = Array.from({ length: CHANGES_PER_SECOND / 10 }, async () => {
      version += 1;
      const resourceVersion = String(version);
      const namespace = `watched-${version % NAMESPACES}`;
      const metadata = { uid: `watched-${version % 500}`, name: `m-${version % 500}`, namespace, resourceVersion };
      const row = aModelRow(metadata, { description: DESCRIPTION });
      // An event may come before the answer to the commit is read.
      committed.set(resourceVersion, performance.now());
      await storage.upsert(row);
      committed.set(resourceVersion, performance.now());
    });
    await Promise.all(batch);
    await delay(Math.max(0, started + (tick + 1) * 100 - performance.now()));
  }
  await delay(2000);
  await storage.close();
  const expected = SECONDS * CHANGES_PER_SECOND * (WATCHES / NAMESPACES);
  const mib = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid ?? 0}/status`, 'utf8'))?.[1]) / 1024;
  for (const end of open) end();
  report.note(`${WATCHES} watches, ${CHANGES_PER_SECOND} changes a second: ${delays.length} events of ${expected}`);
  report.figure('watch_delay_p50_ms', rounded(median(delays), 0));
  report.figure('watch_delay_p99_ms', rounded(quantile(delays, 0.99), 0));
  report.figure('watch_events_share', rounded(delays.length / expected, 3));
  report.figure('watch_rss_mib', rounded(mib, 0));
}

interface Follow {
  readonly port: number;
  readonly agent: Agent;
  readonly path: string;
  readonly user: string;
}

function follow(
  { port, agent, path, user }: Follow,
  onVersion: (version: string) => void,
): { readonly begun: Promise<unknown>; readonly end: () => void } {
  const begun = Promise.withResolvers<undefined>();
  const options = { host: '127.0.0.1', port, path, agent, headers: { 'x-bench-user': user } };
  const sent = request(options, (response) => {
    if (response.statusCode === 200) begun.resolve(undefined);
    else begun.reject(new CodedError('BENCH', `watch: ${response.statusCode}`));
    let rest = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.startsWith('{"type":"BOOKMARK"')) continue;
        onVersion(/"resourceVersion":"(\d+)"/.exec(line)?.[1] ?? '');
      }
    });
    response.on('error', () => undefined);
  });
  sent.on('error', begun.reject);
  sent.end();
  return { begun: begun.promise, end: () => void sent.destroy() };
}
