import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { sameKind } from '../../../../webhooks/policies/same-kind.ts';
import { assertDenied, verdictOf } from '../../../support/policies.ts';

const object = (kind: string, apiVersion = 'michelangelo.api/v2'): JsonObject => ({
  kind,
  apiVersion,
  metadata: { name: 'a' },
});
const gvk = (kind: string, version = 'v2'): JsonObject => ({ group: 'michelangelo.api', version, kind });

const denied: readonly { name: string; request: JsonObject; message: RegExp }[] = [
  { name: 'another kind in the object', request: { object: object('Project') }, message: /hold Model, not Project;/ },
  {
    name: 'another version in the object',
    request: { object: object('Model', 'michelangelo.api/v1') },
    message: /not michelangelo\.api\/v1;/,
  },
  {
    name: 'another group in the object',
    request: { object: object('Model', 'example.com/v2') },
    message: /not example\.com\/v2;/,
  },
  {
    name: 'a plural of ours with a kind that is not its own',
    request: { kind: gvk('Project'), object: object('Project') },
    message: /hold Model, not Project;/,
  },
  {
    name: 'another kind in the object that goes',
    request: { operation: 'DELETE', object: null, oldObject: object('Project') },
    message: /hold Model, not Project;/,
  },
];

describe('rule same-kind', () => {
  for (const { name, request, message } of denied) {
    it(`refuses ${name}`, async () => assertDenied(await verdictOf(sameKind, request), message));
  }

  it('allows the kind of the resource, converted or not', async () => {
    const kind = gvk('Model', 'v3');
    assert.equal((await verdictOf(sameKind, { object: object('Model') })).allowed, true);
    assert.equal(
      (await verdictOf(sameKind, { kind, requestKind: gvk('Model'), object: object('Model', 'michelangelo.api/v3') }))
        .allowed,
      true,
    );
  });

  it('allows an object that does not name its kind, as scalar updates of other versions do', async () => {
    assert.equal((await verdictOf(sameKind, { object: { metadata: { name: 'a' } } })).allowed, true);
  });
});
