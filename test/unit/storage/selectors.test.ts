import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KEY_LENGTH } from '../../../src/storage/mysql/schema/tables.ts';
import { isNamedKey, namedPairs, splitOwners } from '../../../src/storage/owners.ts';
import {
  isLabelKey,
  parseAnnotationSelector,
  parseFieldSelector,
  parseLabelSelector,
} from '../../../src/storage/selectors.ts';

describe('a label selector', () => {
  const known = [
    ['', []],
    ['  ', []],
    ['team=a', [{ key: 'team', operator: 'in', values: ['a'] }]],
    ['team == a', [{ key: 'team', operator: 'in', values: ['a'] }]],
    ['team!=a', [{ key: 'team', operator: 'notIn', values: ['a'] }]],
    ['team=', [{ key: 'team', operator: 'in', values: [''] }]],
    ['team in (a, b,a)', [{ key: 'team', operator: 'in', values: ['a', 'b'] }]],
    ['team in (,a)', [{ key: 'team', operator: 'in', values: ['', 'a'] }]],
    ['team notin(a)', [{ key: 'team', operator: 'notIn', values: ['a'] }]],
    ['team', [{ key: 'team', operator: 'exists' }]],
    ['! team', [{ key: 'team', operator: 'notExists' }]],
    ['in in (in)', [{ key: 'in', operator: 'in', values: ['in'] }]],
    [
      'example.com/team=a,!x , y notin (z)',
      [
        { key: 'example.com/team', operator: 'in', values: ['a'] },
        { key: 'x', operator: 'notExists' },
        { key: 'y', operator: 'notIn', values: ['z'] },
      ],
    ],
  ] as const;
  for (const [text, requirements] of known) {
    it(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(parseLabelSelector(text), requirements));
  }

  const wrong = [
    ['team=a,', /character 8: expected a label key/],
    ['=a', /character 1: expected a label key/],
    ['team a', /character 6: expected "," before "a"/],
    ['team in a', /character 9: expected "\("/],
    ['team in ()', /character 10: the list of values is empty/],
    ['team in (a', /character 11: expected "," or "\)"/],
    ['team>1', /character 5: .*> and < are not supported/],
    ['-team', /"-team" is not a label key/],
    ['a/b/c=d', /"a\/b\/c" is not a label key/],
    [`team=${'x'.repeat(64)}`, /is not a label value/],
    ["team=' OR 1=1", /is not a label value/],
  ] as const;
  for (const [text, message] of wrong) {
    it(`refuses ${JSON.stringify(text.slice(0, 20))} and says where`, () => {
      assert.throws(() => parseLabelSelector(text), { code: 'STORAGE_SELECTOR_INVALID', message });
    });
  }
});

describe('a field selector', () => {
  const known = [
    ['', []],
    ['metadata.name=a', [{ field: 'metadata.name', operator: '=', value: 'a' }]],
    ['metadata.name==a', [{ field: 'metadata.name', operator: '=', value: 'a' }]],
    [
      'spec.tier!=1,spec.owner.name=',
      [
        { field: 'spec.tier', operator: '!=', value: '1' },
        { field: 'spec.owner.name', operator: '=', value: '' },
      ],
    ],
    ['spec.description=a\\,b\\=c\\\\d', [{ field: 'spec.description', operator: '=', value: 'a,b=c\\d' }]],
  ] as const;
  for (const [text, conditions] of known) {
    it(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(parseFieldSelector(text), conditions));
  }

  const wrong = [
    ['metadata.name', /character 1: "metadata.name" is not field=value/],
    ['a=b,', /character 5: "" is not field=value/],
    ['a=b=c', /backslash/],
    ['a=b\\c', /backslash/],
    ['a=b\\', /backslash/],
  ] as const;
  for (const [text, message] of wrong) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseFieldSelector(text), { code: 'STORAGE_SELECTOR_INVALID', message });
    });
  }
});

describe('a selector of annotations', () => {
  it('is written as one of labels, and values are any text, in quotes where they are more than a word', () => {
    assert.deepEqual(parseAnnotationSelector('Example.com/note=https://a/b?c,!old,note in ("a, \\"b\\"",c)'), [
      { key: 'Example.com/note', operator: 'in', values: ['https://a/b?c'] },
      { key: 'old', operator: 'notExists' },
      { key: 'note', operator: 'in', values: ['a, "b"', 'c'] },
    ]);
    assert.deepEqual(parseAnnotationSelector('note='), [{ key: 'note', operator: 'in', values: [''] }]);
  });

  it('says what is wrong, and where', () => {
    for (const [text, message] of [
      ['note="a', /annotation selector.*character \d+: "a is not a text in quotes/],
      ['note=a b', /character 8: expected "," before "b"/],
      ['-note', /"-note" is not an annotation key/],
      ['note>1', /annotations are compared as text/],
    ] as const) {
      assert.throws(() => parseAnnotationSelector(text), { code: 'STORAGE_SELECTOR_INVALID', message });
    }
  });
});

describe('a field selector of owners', () => {
  const split = (text: string) => splitOwners(parseFieldSelector(text));

  it('asks by uid, or by kind and name, beside other fields', () => {
    assert.deepEqual(split('metadata.ownerReferences.uid=12-34,spec.tier=1,metadata.ownerReferences!=Pipeline/train'), {
      owners: [
        { key: '=12-34', operator: 'in', values: [''] },
        { key: 'Pipeline=train', operator: 'notIn', values: [''] },
      ],
      fields: [{ field: 'spec.tier', operator: '=', value: '1' }],
    });
  });

  it('is refused in any other form, with the forms that there are', () => {
    const forms = /metadata\.ownerReferences\.uid=<uid>, metadata\.ownerReferences=<Kind>\/<name>/;
    for (const text of ['name=a', 'uid=', 'controller=true'].map((rest) => `metadata.ownerReferences.${rest}`))
      assert.throws(() => split(text), { code: 'STORAGE_QUERY_UNSUPPORTED', message: forms });
    assert.throws(() => split('metadata.ownerReferences=train'), { message: forms });
  });

  it('finds what stands in the object, and no label', () => {
    const owner = { apiVersion: 'michelangelo.api/v2', kind: 'Pipeline', name: 'train', uid: '12-34' };
    const ownerReferences = [owner, owner, { ...owner, uid: 'with blanks ' }, { kind: 7 }, 'none'];
    assert.deepEqual(namedPairs({ metadata: { ownerReferences } }), [
      ['=12-34', ''],
      ['Pipeline=train', ''],
    ]);
    assert.ok(namedPairs({ metadata: { ownerReferences } }).every(([key]) => isNamedKey(key) && !isLabelKey(key)));
    const longest = { kind: 'K'.repeat(63), name: 'n'.repeat(253), uid: 'u' };
    assert.ok(namedPairs({ metadata: { ownerReferences: [longest] } }).every(([key]) => key.length <= KEY_LENGTH));
  });
});

describe('a selector that is made to keep the database busy', () => {
  const repeated = (part: string, times: number): string => Array.from({ length: times }, () => part).join(',');

  it('is refused where it has more than 64 requirements', () => {
    assert.equal(parseLabelSelector(repeated('a', 64)).length, 1);
    assert.throws(() => parseLabelSelector(repeated('a', 30_000)), /more than 64 requirements/);
    assert.equal(parseFieldSelector(repeated('a=b', 64)).length, 1);
    assert.throws(() => parseFieldSelector(repeated('a=b', 15_000)), /more than 64 requirements/);
  });

  it('is refused where all its requirements together have more than 1024 values', () => {
    const values = Array.from({ length: 20 }, (_, index) => `v${index}`).join(',');
    const selector = (sets: number) => Array.from({ length: sets }, (_, index) => `k${index} in (${values})`).join(',');
    assert.equal(parseLabelSelector(selector(51)).length, 51);
    assert.throws(() => parseLabelSelector(selector(52)), /more than 1024 values/);
  });
});
