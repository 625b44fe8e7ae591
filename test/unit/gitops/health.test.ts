import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Environment } from '@marcbachmann/cel-js';
import { healthCheckExpressions } from '../../../hack/generate/gitops/cel.ts';
import { alwaysHealthy, conditionRules, type Health, healthRules } from '../../../hack/generate/gitops/health.ts';
import { defaultKinds } from '../../../src/kinds/kinds.ts';
import { enums } from '../../../src/proto/generated/descriptors.ts';

type FluxStatus = 'InProgress' | 'Failed' | 'Current';

const environment = new Environment({ unlistedVariablesAreDyn: true });

/** As Flux does it: in this order, and what cannot be evaluated is not ready. */
function fluxStatus(kind: string, object: Record<string, unknown>): FluxStatus | 'NotReady' {
  const expressions = healthCheckExpressions().find((each) => each.kind === kind);
  assert.ok(expressions, kind);
  const { inProgress, failed, current } = expressions;
  try {
    for (const [expression, status] of [
      [inProgress, 'InProgress'],
      [failed, 'Failed'],
      [current, 'Current'],
    ] as const) {
      if (environment.evaluate(expression, object) === true) return status;
    }
    return 'InProgress';
  } catch {
    return 'NotReady';
  }
}

const meaning: Readonly<Record<Health, FluxStatus>> = {
  Healthy: 'Current',
  Suspended: 'Current',
  Progressing: 'InProgress',
  Degraded: 'Failed',
};

describe('health of objects', () => {
  it('is known for every kind', () => {
    const told = [...healthRules.map(({ kind }) => kind), ...conditionRules.map(({ kind }) => kind), ...alwaysHealthy];
    assert.deepEqual(told.toSorted(), [...defaultKinds.map(({ kind }) => kind), 'Ingester'].toSorted());
  });

  it('is known for every state of the definitions, and for no other', () => {
    for (const { kind, prefix, states } of healthRules) {
      if (kind === 'Ingester') continue;
      const [name] = Object.keys(enums).filter((each) => each.endsWith(`.${kind}State`));
      assert.ok(name, kind);
      const known = (enums[name] ?? []).map(([, value]) => value);
      assert.deepEqual(
        Object.keys(states)
          .map((state) => `${prefix}${state}`)
          .toSorted(),
        known.toSorted(),
      );
    }
  });

  for (const { kind, field, prefix, states, without } of healthRules) {
    if (without === 'Healthy') continue;
    it(`is what Flux makes of each state of ${kind}, and of an object without a state`, () => {
      for (const [state, health] of Object.entries(states)) {
        assert.equal(fluxStatus(kind, { status: { [field]: `${prefix}${state}` } }), meaning[health], state);
      }
      assert.equal(fluxStatus(kind, { status: {} }), 'InProgress');
      assert.equal(fluxStatus(kind, { metadata: {} }), 'NotReady');
    });
  }

  it('is what Flux makes of conditions of an object', () => {
    const status = (type: string, value: string) => ({
      status: { statusConditions: [{ type, status: `CONDITION_STATUS_${value}` }] },
    });
    assert.equal(fluxStatus('SparkJob', status('Succeeded', 'TRUE')), 'Current');
    assert.equal(fluxStatus('SparkJob', status('Failed', 'TRUE')), 'Failed');
    assert.equal(fluxStatus('SparkJob', status('Succeeded', 'FALSE')), 'InProgress');
    assert.equal(fluxStatus('SparkJob', { status: {} }), 'InProgress');
  });
});
