import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IngesterStatus } from '../../../src/api/ingester/status.ts';
import { plan } from '../../../src/lifecycle/plan/plan.ts';
import { KEPT_TRANSITIONS } from '../../../src/lifecycle/plan/transitions.ts';
import { after, asking, failing, inputOf, running } from '../../support/lifecycle-plans.ts';

function ways({ transitions = [] }: IngesterStatus): readonly string[] {
  return transitions.map(({ from = '-', to, reason }) => `${from} > ${to}: ${reason}`);
}

describe('the log of phases', () => {
  it('has where the resource came from, when and why', () => {
    assert.deepEqual(ways(running.status), [
      '- > Initializing: Quiescing',
      'Initializing > Running: LifecycleComplete',
    ]);
    const now = new Date(running.now + 5000);
    const { status } = plan(asking({ version: '2.0.0' }, { now }));
    assert.deepEqual(status.transitions?.at(-1), {
      from: 'Running',
      to: 'Upgrading',
      time: now.toISOString(),
      reason: 'Quiescing',
    });
  });

  it('gains nothing where the phase stays', () => {
    const input = asking({ version: '2.0.0' });
    assert.deepEqual(after(input, 3).status.transitions, plan(input).status.transitions);
  });

  it('names the reason of the condition that explains the phase', () => {
    const last = (status: IngesterStatus): string | undefined => ways(status).at(-1);
    assert.equal(last(plan(asking({ version: '0.9.0' })).status), 'Running > Blocked: DowngradeBlocked');
    const wrong = asking({}, { spec: undefined, problems: ['spec.config.mysql: no'] });
    assert.equal(last(plan(wrong).status), 'Running > Blocked: Invalid');
    assert.equal(last(plan(asking({}, { suspended: true })).status), 'Running > Suspended: Suspended');
    assert.equal(last(plan(inputOf({ ...running, components: {} })).status), 'Running > Degraded: ComponentsNotReady');
    const { made } = failing('init', { version: '2.0.0', lifecycle: { rollback: { enabled: false } } });
    assert.equal(last(made.status), 'Upgrading > Failed: TaskFailed');
    const { input, made: failed } = failing('quiesce', { version: '2.0.0' });
    const back = plan({ ...input, status: failed.status });
    assert.equal(last(back.status), 'Failed > Blocked: RolledBack');
    const lifecycle = { ...running.spec.lifecycle, upgradeMode: 'Supervised' } as const;
    const waiting = plan(asking({ version: '2.0.0', lifecycle }));
    assert.equal(last(waiting.status), 'Running > AwaitingApproval: AwaitingApproval');
  });

  it('keeps the newest and drops the oldest', () => {
    let status = running.status;
    for (let turn = 0; turn < 2 * KEPT_TRANSITIONS; turn += 1) {
      const now = new Date(running.now + turn * 1000);
      status = plan(inputOf({ ...running, status }, { suspended: turn % 2 === 0, now })).status;
    }
    assert.equal(status.transitions?.length, KEPT_TRANSITIONS);
    assert.equal(status.transitions.at(-1)?.time, new Date(running.now + 39_000).toISOString());
    assert.equal(status.transitions[0]?.time, new Date(running.now + 20_000).toISOString());
  });
});
