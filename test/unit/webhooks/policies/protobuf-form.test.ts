import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { protobufForm } from '../../../../webhooks/policies/protobuf-form.ts';
import { verdictOf } from '../../../support/policies.ts';

function requestFor(plural: string, spec: JsonObject, more: JsonObject = {}): JsonObject {
  const resource = { group: 'michelangelo.api', version: 'v2', resource: plural };
  return {
    operation: 'CREATE',
    resource,
    object: { apiVersion: 'michelangelo.api/v2', metadata: { name: 'n' }, spec },
    ...more,
  };
}

const wrong = { trigger: { intervalSchedule: { interval: '5 minutes' } } };
const warning =
  'spec.trigger.intervalSchedule.interval: expected a duration such as 3.5s or 1h30m; only the json column will have it';

describe('rule protobuf-form', () => {
  it('warns of a value that does not fit its definition, and of a field without one', async () => {
    assert.deepEqual(await verdictOf(protobufForm, requestFor('triggerruns', { ...wrong, proxyUser: 'a' })), {
      allowed: true,
      warnings: ['spec.proxyUser: unknown to the protobuf definitions; only the json column will have it', warning],
    });
  });

  it('says nothing of a duration in Go syntax and of a pod template in either form', async () => {
    const spec = { trigger: { intervalSchedule: { interval: '1h' } } };
    assert.deepEqual(await verdictOf(protobufForm, requestFor('triggerruns', spec)), { allowed: true });
    const pods = [
      { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
      { spec: { volumes: [{ name: 'v', volumeSource: { emptyDir: {} } }] } },
    ];
    for (const pod of pods) {
      const request = requestFor('rayclusters', { head: { pod } });
      assert.deepEqual(await verdictOf(protobufForm, request), { allowed: true });
    }
  });

  it('warns at most five times', async () => {
    const spec = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`new${index}`, 1]));
    const verdict = await verdictOf(protobufForm, requestFor('models', spec));
    assert.equal(verdict.allowed && verdict.warnings?.length, 5);
  });

  it('tells an update only what the update brings', async () => {
    const update = { operation: 'UPDATE', oldObject: { spec: wrong } };
    assert.deepEqual(await verdictOf(protobufForm, requestFor('triggerruns', { ...wrong, autoFlip: true }, update)), {
      allowed: true,
    });
    const brings = requestFor('triggerruns', wrong, { operation: 'UPDATE', oldObject: { spec: {} } });
    assert.deepEqual(await verdictOf(protobufForm, brings), { allowed: true, warnings: [warning] });
  });

  it('does not apply to deletes, status and other resources', async () => {
    const request = requestFor('triggerruns', wrong);
    const other = { resource: { group: 'apps', version: 'v1', resource: 'deployments' } };
    for (const change of [{ operation: 'DELETE' }, { subResource: 'status' }, other]) {
      assert.deepEqual(await verdictOf(protobufForm, { ...request, ...change }), { allowed: true });
    }
  });
});
