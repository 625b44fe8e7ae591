import type { Clock } from '../base/clock.ts';
import { createMetrics } from '../base/metrics.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { createClient } from './kube-client.ts';

/** For a command that a person runs: nobody scrapes its metrics. */
export function commandClient(configuration: Configuration, clock: Clock): KubeClient {
  return createClient(configuration, clock, createMetrics());
}
