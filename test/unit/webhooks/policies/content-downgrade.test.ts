import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, JsonValue } from '../../../../src/base/json.ts';
import type { ObjectName } from '../../../../src/gitops/tombstone.ts';
import { type TombstoneEntry, versionsOf } from '../../../../src/gitops/tombstone-index.ts';
import { findKind } from '../../../../src/kinds/kinds.ts';
import { contentDowngrade, type DowngradeModes } from '../../../../webhooks/policies/content-downgrade.ts';
import { kindNamed } from '../../../support/objects.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

interface Move {
  readonly kind: string;
  readonly path: string;
  readonly from: JsonValue | undefined;
  readonly to: JsonValue | undefined;
}

function objectWith(kind: string, path: string, value: JsonValue | undefined, metadata: JsonObject = {}): JsonObject {
  const nested = path.split('.').reduceRight<JsonValue | undefined>((inner, key) => ({ [key]: inner }), value);
  return { apiVersion: 'michelangelo.api/v2', kind, metadata: { name: 'a', ...metadata }, ...(nested as JsonObject) };
}

function requestFor({ kind, path, from, to }: Move, override?: string): JsonObject {
  const plural = findKind(kind)?.plural ?? '';
  const annotations = override === undefined ? {} : { annotations: { 'michelangelo/allow-downgrade': override } };
  return {
    operation: 'UPDATE',
    kind: { group: 'michelangelo.api', version: 'v2', kind },
    resource: { group: 'michelangelo.api', version: 'v2', resource: plural },
    oldObject: objectWith(kind, path, from),
    object: objectWith(kind, path, to, annotations),
  };
}

const everything: DowngradeModes = { Deployment: 'deny', InferenceServer: 'deny' };
const nothingKnown = { find: () => undefined };
const rule = contentDowngrade(everything, nothingKnown);

const serving = 'spec.initSpec.servingSpec.version';
const refused: readonly (Move & { target: string })[] = [
  { kind: 'RayCluster', path: 'spec.rayVersion', from: '2.9.0', to: '2.8.1', target: '2.8.1' },
  { kind: 'RayCluster', path: 'spec.rayVersion', from: '2.9.0', to: undefined, target: 'none' },
  { kind: 'RayCluster', path: 'spec.rayVersion', from: '2.9.0', to: '', target: 'none' },
  { kind: 'SparkJob', path: 'spec.sparkVersion', from: '3.3.0', to: '3.3.0-rc1', target: '3.3.0-rc1' },
  { kind: 'Model', path: 'spec.revisionId', from: 4, to: 3, target: '3' },
  { kind: 'Model', path: 'spec.revisionId', from: 4, to: undefined, target: '0' },
  { kind: 'Model', path: 'spec.revisionId', from: 4, to: -1, target: '-1' },
  { kind: 'Model', path: 'spec.revisionId', from: -1, to: -2, target: '-2' },
  { kind: 'RayCluster', path: 'spec.rayVersion', from: '2.9.0', to: 'nightly', target: 'nightly' },
  { kind: 'Revision', path: 'spec.revisionId', from: '12', to: 'b7e23ec2', target: 'b7e23ec2' },
  { kind: 'InferenceServer', path: serving, from: '1.2.0', to: 'latest', target: 'latest' },
  { kind: 'Model', path: 'spec.sealed', from: true, to: false, target: 'false' },
  { kind: 'Model', path: 'spec.sealed', from: true, to: undefined, target: 'false' },
  { kind: 'Revision', path: 'spec.revisionId', from: '12', to: '9', target: '9' },
  { kind: 'InferenceServer', path: serving, from: '1.2.0', to: '1.1.0', target: '1.1.0' },
  { kind: 'Deployment', path: 'spec.desiredRevision.name', from: 'churn-10', to: 'churn-9', target: 'churn-9' },
  {
    kind: 'PipelineRun',
    path: 'status.state',
    from: 'PIPELINE_RUN_STATE_SUCCEEDED',
    to: 'PIPELINE_RUN_STATE_RUNNING',
    target: 'PIPELINE_RUN_STATE_RUNNING',
  },
  {
    kind: 'RayJob',
    path: 'status.state',
    from: 'RAY_JOB_STATE_KILLED',
    to: 'RAY_JOB_STATE_RUNNING',
    target: 'RAY_JOB_STATE_RUNNING',
  },
  {
    kind: 'TriggerRun',
    path: 'status.state',
    from: 'TRIGGER_RUN_STATE_FAILED',
    to: 'TRIGGER_RUN_STATE_PAUSED',
    target: 'TRIGGER_RUN_STATE_PAUSED',
  },
  {
    kind: 'Revision',
    path: 'status.state',
    from: 'REVISION_STATE_READY',
    to: 'REVISION_STATE_BUILDING',
    target: 'REVISION_STATE_BUILDING',
  },
];

const allowed: readonly Move[] = [
  { kind: 'RayCluster', path: 'spec.rayVersion', from: '2.9.0', to: '2.9.0' },
  { kind: 'RayCluster', path: 'spec.rayVersion', from: '2.9.0', to: '2.10.0' },
  { kind: 'RayCluster', path: 'spec.rayVersion', from: '2.9.0', to: '2.9.0-py310' },
  { kind: 'RayCluster', path: 'spec.rayVersion', from: undefined, to: '1.0.0' },
  { kind: 'Model', path: 'spec.revisionId', from: undefined, to: 1 },
  { kind: 'Model', path: 'spec.revisionId', from: 9, to: 10 },
  { kind: 'Model', path: 'spec.revisionId', from: -2, to: -1 },
  { kind: 'Model', path: 'spec.sealed', from: false, to: true },
  { kind: 'Revision', path: 'spec.revisionId', from: 'b7e23ec2', to: '0c9b1d00' },
  { kind: 'Revision', path: 'spec.revisionId', from: '9'.repeat(40), to: '1'.repeat(40) },
  { kind: 'InferenceServer', path: serving, from: 'latest', to: '1.0.0' },
  { kind: 'Deployment', path: 'spec.desiredRevision.name', from: 'churn-10', to: 'fraud-9' },
  { kind: 'Deployment', path: 'spec.desiredRevision.name', from: 'churn-9', to: 'churn-10' },
  {
    kind: 'PipelineRun',
    path: 'status.state',
    from: 'PIPELINE_RUN_STATE_RUNNING',
    to: 'PIPELINE_RUN_STATE_PENDING',
  },
];

const title = ({ kind, path, from, to }: Move): string =>
  `${kind} ${path} ${JSON.stringify(from ?? 'missing')} -> ${JSON.stringify(to ?? 'missing')}`;

describe('rule content-downgrade', () => {
  for (const move of refused) {
    it(`refuses ${title(move)}`, async () =>
      assertDenied(await verdictOf(rule, requestFor(move)), /(downgrade|compared); to permit it set annotation/));

    it(`allows ${title(move)} with a warning when the annotation names ${move.target}`, async () => {
      assertWarned(await verdictOf(rule, requestFor(move, move.target)), /is a downgrade|cannot be compared/);
      assertWarned(
        await verdictOf(rule, requestFor(move, `other, ${move.target}`)),
        /is a downgrade|cannot be compared/,
      );
    });

    it(`refuses ${title(move)} when the annotation names something else`, async () => {
      for (const other of ['', 'true', `${move.target}.`, JSON.stringify(move.from)]) {
        assertDenied(await verdictOf(rule, requestFor(move, other)), /downgrade/);
      }
    });

    it(`warns of ${title(move)} in mode warn, and is silent in mode off`, async () => {
      assertWarned(
        await verdictOf(contentDowngrade({ [move.kind]: 'warn' }, nothingKnown), requestFor(move)),
        /is a downgrade|cannot be compared/,
      );
      assert.deepEqual(await verdictOf(contentDowngrade({ [move.kind]: 'off' }, nothingKnown), requestFor(move)), {
        allowed: true,
      });
    });
  }

  for (const move of allowed) {
    it(`allows ${title(move)} without a word`, async () =>
      assert.deepEqual(await verdictOf(rule, requestFor(move)), { allowed: true, warnings: [] }));
  }

  it('warns of versions without an order', async () => {
    const move = { kind: 'RayCluster', path: 'spec.rayVersion', from: 'nightly', to: '2.8.0' };
    assertWarned(await verdictOf(rule, requestFor(move)), /no order is known/);
  });

  it('lets Deployment and InferenceServer go back unless it is switched on', async () => {
    for (const move of refused.filter(({ kind }) => kind in everything)) {
      assert.deepEqual(await verdictOf(contentDowngrade({}, nothingKnown), requestFor(move)), { allowed: true });
    }
  });

  it('only warns in a write of status, which a controller would repeat for ever', async () => {
    for (const move of refused) {
      assertWarned(
        await verdictOf(rule, { ...requestFor(move), subResource: 'status' }),
        /is a downgrade|cannot be compared/,
      );
    }
  });

  it('shows the move and a target that can be copied', async () => {
    const move = { kind: 'RayCluster', path: 'spec.rayVersion', from: '2.9.0', to: '2.8.1' };
    const verdict = await verdictOf(rule, requestFor(move));
    assert.deepEqual(verdict, {
      allowed: false,
      message:
        'spec.rayVersion 2.9.0 -> 2.8.1 is a downgrade; to permit it set annotation michelangelo/allow-downgrade=2.8.1',
    });
  });

  it('refuses an object that is created again in a lower version than the object that had the name before', async () => {
    for (const move of refused.filter(({ path }) => path.startsWith('spec.'))) {
      const kind = kindNamed(move.kind);
      const asked: ObjectName[] = [];
      const find = (name: ObjectName): TombstoneEntry => {
        asked.push(name);
        return { uid: 'u', end: 'deleted', versions: versionsOf(kind, objectWith(move.kind, move.path, move.from)) };
      };
      const known = contentDowngrade(everything, { find });
      const { oldObject: _gone, ...request } = requestFor(move);
      const create = { ...request, operation: 'CREATE', namespace: 'ns', name: 'a' };
      assertDenied(await verdictOf(known, create), /(downgrade|compared); to permit it set annotation/);
      assert.deepEqual(asked.slice(0, 1), [{ kind: move.kind, namespace: 'ns', name: 'a' }]);
      const { oldObject: _none, ...permitted } = requestFor(move, move.target);
      assertWarned(await verdictOf(known, { ...permitted, operation: 'CREATE' }), /is a downgrade|cannot be compared/);
    }
  });

  it('lets any version be created where nothing is known of the name', async () => {
    for (const move of refused) {
      const create = { ...requestFor(move), operation: 'CREATE', oldObject: null };
      assert.deepEqual(await verdictOf(rule, create), { allowed: true, warnings: [] });
    }
  });

  it('keeps values out of the message that are long, broken or dangerous', async () => {
    const values = ['9'.repeat(4000), 'is\nimmutable', 'field is Immutable', '2.0.0-conflict', '\u202e1.0.0'];
    for (const to of values) {
      const verdict = await verdictOf(
        contentDowngrade({ Model: 'deny' }, nothingKnown),
        requestFor({ kind: 'Model', path: 'spec.sealed', from: true, to }),
      );
      assertDenied(verdict, /downgrade/);
    }
    for (const to of ['x'.repeat(300), 'field-is-Immutable-', '\u202ename-']) {
      const path = 'spec.desiredRevision.name';
      assertDenied(
        await verdictOf(rule, requestFor({ kind: 'Deployment', path, from: `${to}10`, to: `${to}9` })),
        /to the new value/,
      );
    }
  });
});
