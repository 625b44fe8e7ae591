// All that runs for the demo: a cluster with the bundle and its query API, the page, and the programs for the reader.
import { withUndo } from '../local/bundle-servers.ts';
import { startReaper } from '../local/reaper.ts';
import type { ServerProcess } from '../local/server-process.ts';
import { type DemoCommand, writeCommands } from './commands.ts';
import type { DemoCluster } from './demo-cluster.ts';
import { startPage } from './page.ts';

export interface Stage {
  readonly cluster: DemoCluster;
  /** Opens the page in a browser, and asks for no token. */
  readonly address: string;
  readonly commands: readonly DemoCommand[];
  readonly servers: readonly ServerProcess[];
  stop(): Promise<void>;
}

export function startStage(start: () => Promise<DemoCluster>): Promise<Stage> {
  return withUndo(async (stack) => {
    const cluster = await start();
    stack.add(() => cluster.stop());
    const reaper = startReaper();
    stack.add(() => reaper.dismiss());
    const { server, address } = await startPage(cluster.access, reaper);
    stack.add(() => server.stop());
    const commands = writeCommands(cluster.access);
    return { cluster, address, commands, servers: [...cluster.servers, server], stop: () => stack.unwind() };
  });
}
