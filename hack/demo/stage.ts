// All that runs for the demo: the servers, the bundle with its query API, the page, and the programs for the reader.
import { type BundleServersOptions, withUndo } from '../local/bundle-servers.ts';
import { type PodBundle, startPodBundle } from '../local/pod-bundle.ts';
import { startReaper } from '../local/reaper.ts';
import type { ServerProcess } from '../local/server-process.ts';
import { type DemoCommand, writeCommands } from './commands.ts';
import { startPage } from './page.ts';

export interface Stage {
  readonly bundle: PodBundle;
  /** Opens the page in a browser, and asks for no token. */
  readonly address: string;
  readonly commands: readonly DemoCommand[];
  readonly servers: readonly ServerProcess[];
  stop(): Promise<void>;
}

export function startStage(options: BundleServersOptions): Promise<Stage> {
  return withUndo(async (stack) => {
    const bundle = await startPodBundle({ ...options, overlay: 'process-node-query' });
    stack.add(() => bundle.stop());
    const reaper = startReaper();
    stack.add(() => reaper.dismiss());
    const { server, address } = await startPage(bundle.controlPlane, reaper);
    stack.add(() => server.stop());
    const commands = writeCommands(bundle.controlPlane);
    return { bundle, address, commands, servers: [...bundle.servers, server], stop: () => stack.unwind() };
  });
}
