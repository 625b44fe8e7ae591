import { systemClock } from '../../base/clock.ts';
import type { Configuration } from '../../config/schema.ts';
import { type ProbeOptions, probe } from '../../sync/probe.ts';
import { commandClient } from '../kube-client.ts';

export async function runProbe(
  configuration: Configuration,
  options: Omit<ProbeOptions, 'client' | 'clock'>,
): Promise<void> {
  const client = commandClient(configuration, systemClock);
  try {
    await probe({ client, clock: systemClock, ...options });
  } finally {
    await client.close();
  }
}
