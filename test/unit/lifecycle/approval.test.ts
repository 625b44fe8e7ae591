// What waits for an approval, what does not, and what is told of a decision.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { approval, type Decision, rejection } from '../../../src/api/ingester/decisions.ts';
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
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
      assert.match(messageOf(made), /kubectl annotate -n <namespace> ingester/);
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

  const decide = (decision: Decision, by?: string): Plan => {
    const waiting = ask({ version: '2.0.0' });
    const token = waiting.status.lifecycle?.upgrade?.token ?? '';
    const annotations = { [decision.token]: token, ...(by === undefined ? {} : { [decision.by]: by }) };
    return ask({ version: '2.0.0' }, { status: waiting.status, annotations, now: new Date('2030-01-01T10:00:00Z') });
  };
  const told = ({ events }: Plan): readonly string[] =>
    events.filter(({ reason }) => reason.startsWith('Upgrade')).map(({ reason, note }) => `${reason}: ${note}`);

  it('each decision is told in an event, with the way that it is about and the user', () => {
    assert.deepEqual(told(decide(approval, 'alice')), ['UpgradeApproved: 1.0.0 to 2.0.0 was approved by alice']);
    assert.deepEqual(told(decide(rejection, 'bob')), ['UpgradeRejected: 1.0.0 to 2.0.0 was rejected by bob']);
    const unnamed = ['UpgradeApproved: 1.0.0 to 2.0.0 was approved by a user whose name was not recorded'];
    assert.deepEqual(told(decide(approval)), unnamed);
    assert.match(messageOf(decide(rejection, 'bob')), /to 2\.0\.0 was rejected by bob/);
  });

  it('the status has who decided and when, also once the upgrade has begun', () => {
    const made = decide(approval, 'alice');
    const later = ask({ version: '2.0.0' }, { status: made.status, now: new Date('2030-01-01T11:00:00Z') });
    for (const [{ status }, decision] of [
      [made, 'Approved'],
      [later, 'Consumed'],
    ] as const) {
      const { upgrade } = status.lifecycle ?? {};
      assert.equal(upgrade?.decision, decision);
      assert.deepEqual([upgrade.decidedBy, upgrade.decidedAt], ['alice', '2030-01-01T10:00:00.000Z']);
    }
  });

  it('the name of one decision is not taken for that of the other, and a long one is cut', () => {
    const waiting = ask({ version: '2.0.0' });
    const token = waiting.status.lifecycle?.upgrade?.token ?? '';
    const annotations = { [approval.token]: token, [rejection.by]: 'mallory' };
    const made = ask({ version: '2.0.0' }, { status: waiting.status, annotations });
    assert.equal(made.status.lifecycle?.upgrade?.decision, 'Approved');
    assert.equal(made.status.lifecycle.upgrade.decidedBy, undefined);
    assert.equal(decide(approval, 'x'.repeat(1000)).status.lifecycle?.upgrade?.decidedBy?.length, 256);
  });

  it('a token cannot be known before there is the resource: that of another one differs', () => {
    const tokens = ['u', 'v'].map((uid) => ask({ version: '2.0.0' }, { uid }).status.lifecycle?.upgrade?.token);
    assert.notEqual(tokens[0], tokens[1]);
  });

  it('going back to what runs asks for nothing', () => {
    const waiting = ask({ version: '2.0.0' });
    const back = ask({}, { status: waiting.status });
    assert.notEqual(back.status.phase, 'AwaitingApproval');
    assert.equal(back.status.lifecycle?.upgrade, undefined);
  });
});
