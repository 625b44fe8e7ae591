import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { programIdentity } from '../base/program-files.ts';

/** Of the process itself: what it is made of, `process_*` and `nodejs_*`. Once for each process. */
export function observeProcess(registry: Registry): void {
  const { version, commit = '' } = programIdentity();
  new Gauge({
    name: 'ingester_build_info',
    help: 'Always 1; the version of the program, the commit it was built from, and its Node',
    labelNames: ['version', 'commit', 'node'],
    registers: [registry],
  }).set({ version, commit, node: process.version }, 1);
  collectDefaultMetrics({ register: registry });
}
