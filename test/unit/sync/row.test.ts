import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PRIMARY_KEY_ANNOTATION } from '../../../src/api/names.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { allKinds } from '../../../src/kinds/kinds.ts';
import type { FieldDescriptor } from '../../../src/proto/descriptor.ts';
import { enums, messages } from '../../../src/proto/generated/descriptors.ts';
import { wellKnownType } from '../../../src/proto/well-known.ts';
import { columnValues, unfitColumns } from '../../../src/storage/columns.ts';
import type { ColumnValue } from '../../../src/storage/row.ts';
import { aModel, kindNamed, rowOf } from '../../support/objects.ts';

/** The definition of the field at a path of JSON names. */
function definitionOf(kind: string, path: readonly string[]): FieldDescriptor | undefined {
  let field: FieldDescriptor | undefined;
  let type = `michelangelo.api.v2.${kind}`;
  for (const name of path) {
    field = messages[type]?.find((candidate) => candidate.name === name);
    type = field !== undefined && 'of' in field ? field.of : '';
  }
  return field;
}

/** Column name → value for an object of the kind with this spec and status. */
function columns(kindName: string, body: { spec?: JsonObject; status?: JsonObject; deletionTimestamp?: string }) {
  const kind = kindNamed(kindName);
  const { deletionTimestamp, ...content } = body;
  const object = { ...aModel(deletionTimestamp === undefined ? {} : { deletionTimestamp }), spec: {}, ...content };
  const values = columnValues(kind, object);
  return Object.fromEntries(
    kind.indexes.flat().map((column, index): [string, ColumnValue | undefined] => [column.name, values[index]]),
  );
}

describe('indexed columns', () => {
  it('hold zero values, never NULL, for missing fields of spec and status themselves', () => {
    const model = columns('Model', {});
    assert.equal(model['algorithm'], '');
    assert.equal(model['revision_id'], 0);
    assert.equal(model['model_kind'], 'MODEL_KIND_INVALID');
    assert.equal(columns('TriggerRun', {})['auto_flip'], false);
    assert.equal(columns('PipelineRun', {})['state'], 'PIPELINE_RUN_STATE_INVALID');
    const { spec: _, status: __, ...bare } = aModel();
    const values = columnValues(kindNamed('PipelineRun'), bare);
    assert.deepEqual(values.slice(4, 6), ['PIPELINE_RUN_STATE_INVALID', null]);
  });

  it('hold NULL where a message on the path is missing', () => {
    const model = columns('Model', {});
    assert.equal(model['owner'], null);
    assert.equal(model['model_family_name'], null);
    assert.equal(columns('PipelineRun', {})['resume_pipeline_run_name'], null);
    assert.equal(columns('PipelineRun', {})['end_time'], null);
  });

  it('hold an empty namespace for a reference within the same namespace', () => {
    const model = columns('Model', { spec: { modelFamily: { name: 'f' } } });
    assert.equal(model['model_family_namespace'], '');
    assert.equal(model['model_family_name'], 'f');
  });

  it('hold enum names, integers, booleans and nested references', () => {
    const run = columns('PipelineRun', {
      spec: { resume: { pipelineRun: { namespace: 'n', name: 'r' } }, actor: { name: 'someone' } },
      status: { state: 'PIPELINE_RUN_STATE_SUCCEEDED' },
    });
    assert.equal(run['state'], 'PIPELINE_RUN_STATE_SUCCEEDED');
    assert.equal(run['resume_pipeline_run_namespace'], 'n');
    assert.equal(run['resume_pipeline_run_name'], 'r');
    assert.equal(run['actor'], 'someone');
    assert.equal(columns('Project', { spec: { tier: 4 } })['tier'], 4);
    assert.equal(columns('TriggerRun', { spec: { autoFlip: true } })['auto_flip'], true);
  });

  it('hold times in UTC with their fraction', () => {
    const at = (endTime: string) => columns('PipelineRun', { status: { endTime } })['end_time'];
    assert.equal(at('2026-01-02T03:04:05Z'), '2026-01-02T03:04:05.0Z');
    assert.equal(at('2026-01-02T03:04:05.123456789Z'), '2026-01-02T03:04:05.123456789Z');
    assert.equal(at('2026-01-02T03:04:05.5+02:00'), '2026-01-02T01:04:05.5Z');
    assert.equal(at('not a time'), null);
    for (const outside of [
      '0000-01-01T00:00:00Z',
      '0999-12-31T23:59:59Z',
      '+010000-01-01T00:00:00Z',
      '-000001-01-01T00:00:00Z',
    ])
      assert.equal(at(outside), null, outside);
    assert.equal(at('1000-01-01T00:00:00Z'), '1000-01-01T00:00:00.0Z');
    assert.equal(at('9999-12-31T23:59:59.999999999Z'), '9999-12-31T23:59:59.999999999Z');
    const parts = (seconds: string, nanos?: number) =>
      columns('PipelineRun', { status: { endTime: { seconds, ...(nanos === undefined ? {} : { nanos }) } } })[
        'end_time'
      ];
    assert.equal(parts('1767323045'), '2026-01-02T03:04:05.0Z');
    assert.equal(parts('1767323045', 120_000_000), '2026-01-02T03:04:05.12Z');
    assert.equal(parts('253402300800'), null);
    const deleted = columns('Deployment', { deletionTimestamp: '2026-01-02T03:04:05Z' });
    assert.equal(deleted['deletion_requested_timestamp'], '2026-01-02T03:04:05.0Z');
  });

  it('are cut to what the column holds, by characters and not by bytes', () => {
    const long = columns('Model', { spec: { algorithm: '😀'.repeat(300), description: 'd'.repeat(2000) } });
    assert.equal(long['algorithm'], '😀'.repeat(255));
    assert.equal(long['description'], 'd'.repeat(768));
  });

  it('are reported where they cannot hold the value of the object', () => {
    const unfit = (kindName: string, content: JsonObject): readonly string[] => {
      const [kind, object] = [kindNamed(kindName), { ...aModel(), spec: {}, ...content }];
      return unfitColumns(kind, object, columnValues(kind, object));
    };
    const long = { algorithm: 'x'.repeat(256), description: 'd'.repeat(769), revisionId: 2 ** 31 };
    assert.deepEqual(unfit('Model', { spec: long }), ['algorithm', 'revision_id', 'description']);
    assert.deepEqual(unfit('PipelineRun', { status: { state: 's'.repeat(300), endTime: 'soon' } }), [
      'state',
      'end_time',
    ]);
    const fitting = { algorithm: '😀'.repeat(255), description: '', revisionId: 2 ** 31 - 1, owner: null };
    assert.deepEqual(unfit('Model', { spec: fitting }), []);
    assert.deepEqual(unfit('PipelineRun', { status: { endTime: '2026-01-02T03:04:05Z' } }), []);
    assert.deepEqual(unfit('PipelineRun', { status: { endTime: { seconds: '253402300800' } } }), ['end_time']);
    assert.equal('unfit' in rowOf(aModel()), false);
    assert.deepEqual(rowOf(aModel({}, { algorithm: 'x'.repeat(256) })).unfit, ['algorithm']);
  });

  it('begin with a key: the uid, or what the annotation names where a uid could be so', () => {
    const keyOf = (named: string) => {
      const { key, unfit, uid } = rowOf(aModel({ annotations: { [PRIMARY_KEY_ANNOTATION]: named } }));
      return [key ?? uid, unfit];
    };
    const { uid } = aModel().metadata;
    const before = '0b7f5ad6-5b43-4b9f-9d0c-5e0a3c1a7c11';
    assert.deepEqual(keyOf(before), [before, undefined]);
    for (const same of ['', uid]) assert.deepEqual(keyOf(same), [uid, undefined]);
    for (const none of ['x'.repeat(65), 'a b', 'blank ', 'ü']) assert.deepEqual(keyOf(none), [uid, ['uid']], none);
  });

  it('exist in the protobuf definitions, with the type and the zero value the catalogue claims', () => {
    const protoTypes = { string: 'string', enum: 'enum', int: 'int32', bool: 'bool', time: 'timestamp' };
    for (const kind of allKinds) {
      for (const column of kind.indexes.flat()) {
        const field = definitionOf(kind.kind, column.path);
        const where = `${kind.kind} ${column.path.join('.')}`;
        assert.ok(field !== undefined, where);
        const type = field.type === 'message' ? wellKnownType(field.of)?.json : field.type;
        assert.equal(type, protoTypes[column.type], where);
        if (field.type === 'enum') assert.equal(column.zero, enums[field.of]?.[0]?.[1], where);
      }
    }
  });
});

describe('a row', () => {
  it('keeps the object as received, fields this program does not know included', () => {
    const object = { ...aModel({}, { fromTheFuture: { a: [1, null] } }), extra: true };
    const stored = JSON.parse(rowOf(object).json) as JsonObject;
    assert.deepEqual(stored['spec'], { algorithm: 'xgboost', fromTheFuture: { a: [1, null] } });
    assert.equal(stored['extra'], true);
  });

  it('leaves out managedFields and the copy kubectl keeps of the manifest', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{"secret":"s3cr3t"}', mine: 'kept' };
    const row = rowOf(aModel({ annotations, managedFields: [{ manager: 'kubectl' }] }));
    assert.doesNotMatch(row.json, /s3cr3t|managedFields|last-applied/);
    assert.deepEqual(row.annotations, [['mine', 'kept']]);
  });

  it('masks sensitive values in json and proto', () => {
    const pod = { name: 'driver', hdfsDelegationToken: 's3cr3t' };
    const row = rowOf({ ...aModel(), kind: 'SparkJob', spec: { driver: { pod }, executor: { instances: 1, pod } } });
    assert.doesNotMatch(row.json, /s3cr3t/);
    assert.doesNotMatch(Buffer.from(row.proto).toString('latin1'), /s3cr3t/);
    assert.match(row.json, /\[redacted\]/);
    assert.match(row.json, /"name":"driver"/);
  });

  it('does not change the object it is made from', () => {
    const object = aModel({ annotations: { a: 'b' } });
    const before = structuredClone(object);
    rowOf(object);
    assert.deepEqual(object, before);
  });
});
