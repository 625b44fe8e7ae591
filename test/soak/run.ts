// Load and faults for a while: npm run soak -- --seed 7 --minutes 30; with --replicas 3, over three that share the work; with
// --vitess, over two shards of a Vitess, whose processes fail too
import { copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { startBundle } from '../../hack/local/bundle.ts';
import { startVitess } from '../../hack/local/vitess/cluster.ts';
import { SLOTS } from '../../src/runtime/replicas/lease-names.ts';
import { buildShipped } from '../bench/shipped.ts';
import { databaseOf } from '../support/vitess-bundle.ts';
import { deadlines } from './faults.ts';
import { Fleet, shared } from './fleet.ts';
import { ShiftedClock } from './shifted-clock.ts';
import { soak } from './soak.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string', default: '30' },
    replicas: { type: 'string', default: '1' },
    vitess: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const minutes = Number(values.minutes);
const replicas = Number(values.replicas);
if (!Number.isInteger(seed) || !(minutes > 0) || !Number.isInteger(replicas) || replicas < 1 || replicas > SLOTS) {
  process.stderr.write(
    'Usage: npm run soak -- [--seed <whole number>] [--minutes <number>] [--replicas <1 to 16>] [--vitess]\n',
  );
  process.exit(2);
}
const started = performance.now();
const note = (text: string): void => {
  process.stdout.write(`${((performance.now() - started) / 1000).toFixed(1).padStart(7)} s  ${text}\n`);
};
note(`seed ${seed}, ${minutes} minutes, reconcilers: ${replicas}${values.vitess ? ', on Vitess' : ''}`);
const vitess = values.vitess ? await startVitess() : undefined;
const shipped = await buildShipped('reconciler');
const clock = new ShiftedClock();
const bundle = await startBundle({
  reconcilerProgram: { main: shipped.main, env: { ...clock.env(shipped.env), ...deadlines } },
  ...(vitess === undefined ? {} : { database: () => Promise.resolve(databaseOf(vitess)) }),
  ...(replicas > 1 ? { startReconciler: false, configuration: shared } : {}),
});
const fleet = replicas > 1 ? await Fleet.start(bundle, replicas) : new Fleet([bundle.reconciler]);
try {
  const report = await soak(bundle, { seed, durationMs: minutes * 60_000, fleet, vitess, clock, note });
  note(JSON.stringify({ seed, ...report }));
  if (report.findings.length > 0) {
    for (const { name, logFile } of [...fleet.processes, bundle.controlPlane.controllerManager ?? []].flat()) {
      const kept = join(tmpdir(), `soak-${seed}-${name}.log`);
      copyFileSync(logFile, kept);
      note(`The log of ${name}: ${kept}`);
    }
    process.exitCode = 1;
  }
} finally {
  await fleet.close();
  await bundle.stop();
  shipped.remove();
  clock.remove();
}
