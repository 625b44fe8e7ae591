import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { decodeObject } from '../../../src/proto/decode.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { IncompleteProtos } from '../../../src/sync/flows/incomplete-protos.ts';
import { toRow } from '../../../src/sync/row.ts';
import { aModel, modelKind } from '../../support/objects.ts';

describe('a row of an object with a value that has no protobuf form', () => {
  const spec = { algorithm: 'x', revisionId: 'seven', brandNew: true };
  const row = toRow(modelKind, aModel({ name: 'odd' }, spec), encodeObject);

  it('has everything else in its protobuf form, and all of it in its json', () => {
    assert.deepEqual(decodeObject('Model', row.proto)['spec'], { algorithm: 'x' });
    assert.deepEqual((JSON.parse(row.json) as JsonObject)['spec'], spec);
  });

  it('says what its protobuf form lacks', () => {
    assert.ok(row.unfit?.includes('proto'));
    assert.deepEqual(row.leftOut?.map(({ path }) => path).sort(), ['spec.brandNew', 'spec.revisionId']);
  });
});

describe('the list of incomplete protobuf forms', () => {
  const lacks = [
    { path: 'spec.a', expected: 'a string' },
    { path: 'spec.b', expected: undefined },
  ];

  it('names each object with what it lacks, until it is complete or gone', () => {
    const list = new IncompleteProtos();
    list.note('Model', 'ns/a', lacks);
    list.note('Model', 'ns/b', lacks.slice(1));
    list.note('Model', 'ns/b');
    assert.equal(list.count, 1);
    assert.deepEqual(list.list(), [
      {
        ...{ kind: 'Model', namespace: 'ns', name: 'a' },
        lacks: ['spec.a: expected a string', 'spec.b: no definition has this field'],
      },
    ]);
    list.note('Model', 'ns/a', []);
    assert.equal(list.count, 0);
  });

  it('names a thousand objects and counts the others', () => {
    const list = new IncompleteProtos();
    for (let number = 0; number < 1100; number += 1) list.note('Model', `ns/${number}`, lacks);
    assert.equal(list.list().length, 1000);
    assert.equal(list.count, 1100);
    list.note('Model', 'ns/1099');
    assert.equal(list.count, 1099);
  });
});
