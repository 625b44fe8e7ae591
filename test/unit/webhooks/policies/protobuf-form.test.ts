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
  'spec.trigger.intervalSchedule.interval: readers of the protobuf form do not get it; expected a duration such as 3.5s or 1h30m';

describe('rule protobuf-form', () => {
  it('warns of a value that does not fit its definition, and of a field without one', async () => {
    assert.deepEqual(await verdictOf(protobufForm, requestFor('triggerruns', { ...wrong, proxyUser: 'a' })), {
      allowed: true,
      warnings: [
        'spec.proxyUser: readers of the protobuf form do not get it; unknown to the protobuf definitions',
        warning,
      ],
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

  it('of a value of an indexed field says which values there are', async () => {
    assert.deepEqual(await verdictOf(protobufForm, requestFor('models', { kind: 'Custom' })), {
      allowed: true,
      warnings: [
        'spec.kind: readers of the protobuf form do not get it; expected MODEL_KIND_ with one of CUSTOM, REGRESSION, ' +
          'BINARY_CLASSIFICATION, MULTICLASS_CLASSIFICATION, CLUSTERING, LLM_COMPLETION, LLM_CHAT_COMPLETION, LLM_EMBEDDING',
      ],
    });
  });

  it('says nothing of the status of a create, which the API server drops', async () => {
    const status = { state: 'Failed' };
    const request = requestFor('pipelineruns', {});
    const sent = { ...request, object: { ...(request['object'] as JsonObject), status } };
    assert.deepEqual(await verdictOf(protobufForm, sent), { allowed: true });
    const changed = { ...sent, operation: 'UPDATE', oldObject: request['object'] ?? null };
    assert.match(JSON.stringify(await verdictOf(protobufForm, changed)), /status.state: readers of the protobuf form/);
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
