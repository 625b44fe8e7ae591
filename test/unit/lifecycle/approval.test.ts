// What waits for an approval, what does not, and what is told of a decision.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import { APPROVE_UPGRADE_ANNOTATION, REJECT_UPGRADE_ANNOTATION } from '../../../src/api/names.ts';
import { type Plan, plan } from '../../../src/lifecycle/plan/plan.ts';
import { asking, messageOf, running } from '../../support/lifecycle-plans.ts';

const lifecycle = { ...running.spec.lifecycle, upgradeMode: 'Supervised' } as const;

function ask(change: Partial<IngesterSpec>, more: Parameters<typeof asking>[1] = {}): Plan {
  return plan(asking({ lifecycle, ...change }, more));
}

describe('with supervised upgrades', () => {
  const clone = { sourceSecret: 'source' };
  const waits: readonly (readonly [what: string, change: Partial<IngesterSpec>])[] = [
    ['another version', { version: '2.0.0' }],
    ['another image', { image: 'michelangelo-ingester:1.0.0-fixed' }],
    ['data of another database', { environment: 'Staging', lifecycle: { ...lifecycle, clone } }],
  ];
  for (const [what, change] of waits) {
    it(`${what} waits for an approval`, () => {
      const made = ask(change);
      assert.equal(made.status.phase, 'AwaitingApproval');
      const { version, image, lifecycle: target } = made.status.target?.spec ?? running.spec;
      assert.deepEqual([version, image, target?.clone], ['1.0.0', undefined, undefined]);
      assert.match(messageOf(made), /kubectl annotate ingester/);
    });
  }

  it('every other change does not wait, nor the others of an edit that waits', () => {
    const others = { forceReload: 'now', config: { log: { level: 'debug' } } } as const;
    const alone = ask(others);
    assert.notEqual(alone.status.phase, 'AwaitingApproval');
    const made = ask({ version: '2.0.0', ...others });
    assert.equal(made.status.phase, 'AwaitingApproval');
    for (const { status, desired } of [alone, made]) {
      const { version, forceReload, config } = status.target?.spec ?? running.spec;
      assert.deepEqual({ version, forceReload, config }, { version: '1.0.0', ...others });
      assert.equal(desired?.components, 'apply');
    }
  });

  it('each decision is told in an event, with the way that it is about', () => {
    const waiting = ask({ version: '2.0.0' });
    const token = waiting.status.lifecycle?.upgrade?.token ?? '';
    const told = (annotation: string): readonly string[] =>
      ask({ version: '2.0.0' }, { status: waiting.status, annotations: { [annotation]: token } })
        .events.filter(({ reason }) => reason.startsWith('Upgrade'))
        .map(({ reason, note }) => `${reason}: ${note}`);
    assert.deepEqual(told(APPROVE_UPGRADE_ANNOTATION), ['UpgradeApproved: 1.0.0 to 2.0.0 was approved']);
    assert.deepEqual(told(REJECT_UPGRADE_ANNOTATION), ['UpgradeRejected: 1.0.0 to 2.0.0 was rejected']);
  });

  it('going back to what runs asks for nothing', () => {
    const waiting = ask({ version: '2.0.0' });
    const back = ask({}, { status: waiting.status });
    assert.notEqual(back.status.phase, 'AwaitingApproval');
    assert.equal(back.status.lifecycle?.upgrade, undefined);
  });
});
