import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalJson } from '../../../src/base/json.ts';
import { parseLossless } from '../../../src/base/lossless-json.ts';
import { parseEvent } from '../../../src/kube/http/watch-stream.ts';
import { decodeObject } from '../../../src/proto/decode.ts';
import { aModel, rowOf } from '../../support/objects.ts';

const big = '12345678901234567890';

describe('a number beyond 2^53', () => {
  it('keeps its digits from the watch to the json column, and is a double in the protobuf form', () => {
    const object = { ...aModel(), kind: 'PipelineRun', spec: { input: { id: 0, list: [0] } } };
    const line = JSON.stringify({ type: 'ADDED', object }).replace('"id":0', `"id":${big}`).replace('[0]', `[${big}]`);
    const event = parseEvent(Buffer.from(line));
    assert.ok(event.type === 'ADDED');
    const row = rowOf(event.object.parse());
    assert.ok(row.json.includes(`"input":{"id":${big},"list":[${big}]}`), row.json);
    const decoded = decodeObject('PipelineRun', row.proto);
    assert.deepEqual(decoded['spec'], { input: { id: Number(big), list: [Number(big)] } });
  });

  it('survives sorting of keys', () => {
    assert.equal(canonicalJson(parseLossless(`{"b":1,"a":${big}}`)), `{"a":${big},"b":1}`);
  });
});
