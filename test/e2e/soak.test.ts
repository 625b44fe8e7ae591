// The soak, short. Longer ones: npm run soak -- --seed 7 --minutes 30
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { deadlines } from '../soak/faults.ts';
import { ShiftedClock } from '../soak/shifted-clock.ts';
import { soak } from '../soak/soak.ts';
import { useBundle } from '../support/use-bundle.ts';

const clock = new ShiftedClock();
const bundle = useBundle({ reconcilerProgram: { env: { ...clock.env(), ...deadlines } } });
after(() => clock.remove());

it('the bundle keeps every guarantee for half a minute of load and faults', async () => {
  const report = await soak(bundle(), { seed: 7, durationMs: 30_000, clock, note: () => undefined });
  assert.deepEqual(report.findings, []);
  assert.ok(report.objects > 20, 'there was something to lose');
  assert.ok(Object.keys(report.faults).length > 0, 'something went wrong');
});
