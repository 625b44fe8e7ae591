import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zeroEnumName } from '../../../src/proto/enum-type.ts';
import { ProtoUnknownKindError } from '../../../src/proto/errors.ts';
import { fieldAt } from '../../../src/proto/field-at.ts';
import { hasProtoDefinition } from '../../../src/proto/message-type.ts';

const plain = { blob: false, sensitive: false };

describe('fieldAt', () => {
  it('gives the type of a field and what an absent one stands for', () => {
    deepStrictEqual(fieldAt('Project', ['spec', 'tier']), { type: 'int32', zero: 0, ...plain });
    deepStrictEqual(fieldAt('TriggerRun', ['spec', 'autoFlip']), { type: 'bool', zero: false, ...plain });
    deepStrictEqual(fieldAt('Model', ['spec', 'owner', 'name']), { type: 'string', zero: '', ...plain });
    deepStrictEqual(fieldAt('Model', ['spec', 'decisionThreshold']), { type: 'double', zero: 0, ...plain });
    deepStrictEqual(fieldAt('InferenceServer', ['status', 'observedGeneration']), {
      type: 'int64',
      zero: '0',
      ...plain,
    });
  });

  it('gives the name of value 0 for an enum', () => {
    const of = 'michelangelo.api.v2.ModelKind';
    deepStrictEqual(fieldAt('Model', ['spec', 'kind']), { type: 'enum', of, zero: 'MODEL_KIND_INVALID', ...plain });
    strictEqual(fieldAt('TriggerRun', ['spec', 'action'])?.zero, 'TRIGGER_RUN_ACTION_NO_ACTION');
    strictEqual(zeroEnumName(of), 'MODEL_KIND_INVALID');
  });

  it('knows both times as timestamps', () => {
    strictEqual(fieldAt('Deployment', ['metadata', 'deletionTimestamp'])?.type, 'timestamp');
    strictEqual(fieldAt('PipelineRun', ['status', 'endTime'])?.type, 'timestamp');
  });

  it('has null for messages, collections and members of a oneof', () => {
    strictEqual(fieldAt('Model', ['spec', 'modelFamily'])?.zero, null);
    strictEqual(fieldAt('Model', ['spec', 'deployableArtifactUri'])?.zero, null);
    strictEqual(fieldAt('Deployment', ['spec', 'mobileSpec'])?.zero, null);
  });

  it('steps into maps by any key and into arrays not at all', () => {
    deepStrictEqual(fieldAt('SparkJob', ['spec', 'sparkConf', 'a.b']), { type: 'string', zero: '', ...plain });
    strictEqual(fieldAt('SparkJob', ['spec', 'sparkConf'])?.collection, 'map');
    strictEqual(fieldAt('Pipeline', ['spec', 'manifest', 'triggerMap', 'x', 'maxConcurrency'])?.type, 'int32');
    strictEqual(fieldAt('Model', ['spec', 'qualityScores'])?.collection, 'array');
    strictEqual(fieldAt('Model', ['spec', 'qualityScores', 'name']), undefined);
  });

  it('finds apiVersion and kind at the root, where JSON has them', () => {
    strictEqual(fieldAt('Model', ['kind'])?.type, 'string');
    strictEqual(fieldAt('Model', ['typeMeta']), undefined);
    strictEqual(fieldAt('Revision', ['spec', 'baseType', 'kind'])?.type, 'string');
  });

  it('finds nothing inside of structs, times and opaque objects', () => {
    strictEqual(fieldAt('PipelineRun', ['spec', 'input', 'fields']), undefined);
    strictEqual(fieldAt('PipelineRun', ['status', 'endTime', 'seconds']), undefined);
    strictEqual(fieldAt('RayCluster', ['spec', 'head', 'pod', 'json']), undefined);
  });

  it('finds nothing where there is no such field', () => {
    for (const path of [[], ['nope'], ['spec', 'nope'], ['spec', 'algorithm', 'x'], ['spec', 'training_framework']]) {
      strictEqual(fieldAt('Model', path), undefined);
    }
  });

  it('names blob and sensitive fields', () => {
    strictEqual(fieldAt('Model', ['spec', 'inputSchema'])?.blob, true);
    strictEqual(fieldAt('SparkJob', ['spec', 'driver', 'pod', 'hdfsDelegationToken'])?.sensitive, true);
  });

  it('refuses a kind without a definition', () => {
    throws(() => fieldAt('Pod', ['spec']), ProtoUnknownKindError);
    strictEqual(hasProtoDefinition('Pod'), false);
    strictEqual(hasProtoDefinition('Model'), true);
  });
});
