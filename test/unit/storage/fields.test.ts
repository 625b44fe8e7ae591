import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadDescriptors } from '../../../hack/generate/proto/descriptors.ts';
import type { KindDefinition } from '../../../src/api/kind.ts';
import { allKinds, findKind } from '../../../src/kinds/kinds.ts';
import { FieldValueError } from '../../../src/storage/errors.ts';
import { fieldValue, queryField, withDays } from '../../../src/storage/fields.ts';

function kindNamed(name: string): KindDefinition {
  const kind = findKind(name);
  assert.ok(kind !== undefined);
  return kind;
}

const runs = kindNamed('PipelineRun');
const state = queryField(runs, 'status.state');
const endTime = queryField(runs, 'status.endTime');
const refused = (run: () => unknown, message: RegExp) =>
  assert.throws(run, (error: Error) => error instanceof FieldValueError && message.test(error.message));

describe('the value of an enum in a query', () => {
  it('is a name of the enum, in any case and also without the part that all names share', () => {
    for (const text of ['FAILED', 'failed', 'Failed', 'pipeline_run_state_failed', 'PIPELINE_RUN_STATE_FAILED']) {
      assert.equal(fieldValue(state, text), 'PIPELINE_RUN_STATE_FAILED', text);
    }
    const type = queryField(kindNamed('Pipeline'), 'spec.type');
    assert.equal(fieldValue(type, 'Perf eval'), 'PIPELINE_TYPE_PERF_EVAL');
    assert.equal(fieldValue(type, 'perf-eval'), 'PIPELINE_TYPE_PERF_EVAL');
  });

  it('that is no name of the enum is refused with the field as it was written and the names', () => {
    const names = 'INVALID, PENDING, RUNNING, SUCCEEDED, KILLED, FAILED, SKIPPED';
    refused(
      () => fieldValue(state, 'fail'),
      new RegExp(`status.state is never "fail"; it is one of ${names}, with or without PIPELINE_RUN_STATE_ before it`),
    );
    refused(() => fieldValue(queryField(runs, 'state'), 'RUN_STATE_FAILED'), /: state is never/);
  });

  it('is taken as it is where it is empty, or written whole and known to a newer original only', () => {
    for (const text of ['', 'PIPELINE_RUN_STATE_PAUSED']) assert.equal(fieldValue(state, text), text);
  });

  it('is taken as it is where the names are not known', () => {
    assert.equal(fieldValue({ name: 'spec.x', column: 'x', type: 'enum', optional: true }, 'Some-thing'), 'Some-thing');
  });

  it('has the names of the protobuf definitions in every kind', async () => {
    const { enums } = await loadDescriptors();
    const columns = allKinds.flatMap(({ indexes }) => indexes.flat()).filter(({ type }) => type === 'enum');
    assert.ok(columns.length > 5);
    for (const { path, zero, values } of columns) {
      const known = Object.values(enums).filter(([first]) => first?.[1] === zero);
      assert.deepEqual(
        known.map((names) => names.map(([, name]) => name)),
        [values],
        path.join('.'),
      );
    }
  });
});

describe('the value of a time in a query', () => {
  it('is a time, or a day for its beginning in UTC', () => {
    assert.equal(fieldValue(endTime, '2026-01-31T12:00:00.5Z'), '2026-01-31T12:00:00.5Z');
    assert.equal(fieldValue(endTime, '2026-01-31T12:00:00+02:00'), '2026-01-31T10:00:00Z');
    assert.equal(fieldValue(endTime, '2026-01-31'), '2026-01-31T00:00:00Z');
  });

  it('that is neither is refused with the field as it was written and the forms', () => {
    const forms =
      /status.endTime is never ".*"; it is a time such as 2026-01-31T12:00:00Z, or a day in UTC such as 2026-/;
    for (const text of ['yesterday', '2026-02-30', '2026-01-31 12:00', '20260131']) {
      refused(() => fieldValue(endTime, text), forms);
    }
    refused(() => fieldValue(queryField(kindNamed('Project'), 'spec.tier'), 'x'), /a whole number/);
  });

  it('that is a day equals every time in the day, and no other', () => {
    const field = 'status.endTime';
    const [from, to] = ['2026-01-31', '2026-01-31T23:59:59.999999Z'];
    const within = {
      all: [
        { field, operator: '>=', value: from },
        { field, operator: '<=', value: to },
      ],
    };
    const outside = {
      any: [
        { field, operator: '<', value: from },
        { field, operator: '>', value: to },
      ],
    };
    const time = '2026-03-01T00:00:00Z';
    assert.deepEqual(withDays(endTime, { field, operator: '=', value: from }), { any: [within] });
    assert.deepEqual(withDays(endTime, { field, operator: 'in', values: [time, from] }), {
      any: [within, { field, operator: 'in', values: [time] }],
    });
    const absent = { field, operator: 'isNull' };
    assert.deepEqual(withDays(endTime, { field, operator: '!=', value: from }), { any: [absent, { all: [outside] }] });
    assert.deepEqual(withDays(endTime, { field, operator: 'notIn', values: [time, from] }), {
      any: [absent, { all: [outside, { field, operator: 'notIn', values: [time] }] }],
    });
    const later = { field, operator: '>', value: from } as const;
    assert.equal(withDays(endTime, later), later);
  });
});
