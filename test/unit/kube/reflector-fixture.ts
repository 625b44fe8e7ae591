import assert from 'node:assert/strict';
import { Watchdog } from '../../../src/base/watchdog.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { Reflector, type ReflectorOptions } from '../../../src/kube/reflector.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';
import { RecordingSink, ScriptedClient, type Step } from './scripted-client.ts';

export const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

export interface Fixture {
  readonly client: ScriptedClient;
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly sink: RecordingSink;
  readonly reflector: Reflector;
  readonly watchdog: Watchdog;
  /** From which version to which the server went back, as the reflector told. */
  readonly wentBack: readonly string[];
  /** Stops it and proves that nothing is left. */
  readonly end: () => Promise<void>;
}

/** Runs a reflector against lists and watches that do what the scripts say, in turn. */
export async function run(
  lists: ScriptedClient['listScripts'],
  scripts: readonly (readonly Step[])[] = [],
  versions: ScriptedClient['versions'] = [],
  more: Partial<ReflectorOptions> = {},
): Promise<Fixture> {
  const client = new ScriptedClient();
  client.versions.push(...versions);
  client.watchScripts.push(...scripts);
  client.listScripts.push(...lists);
  const [clock, logger, sink, stop] = [
    new FakeClock(),
    new RecordingLogger(),
    new RecordingSink(),
    new AbortController(),
  ];
  const wentBack: string[] = [];
  const onWentBack = (from: string, to: string): void => void wentBack.push(`${from} to ${to}`);
  const watchdog = new Watchdog({ clock, logger });
  const parts = { client: client as unknown as KubeClient, resource, sink, clock, logger, watchdog, onWentBack };
  const reflector = new Reflector({ ...parts, random: () => 0, ...more });
  const finished = Promise.all([reflector.run(stop.signal), watchdog.run(stop.signal)]);
  await clock.advance(0);
  const end = async (): Promise<void> => {
    stop.abort();
    await finished;
    assert.deepEqual([clock.pending, client.open], [0, 0], 'a timer, a list or a watch is left');
  };
  return { client, clock, logger, sink, reflector, watchdog, wentBack, end };
}
