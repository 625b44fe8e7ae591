import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import protobuf from 'protobufjs';
import { type DescriptorSet, describeDefinitions } from '../../../hack/generate/proto/descriptors.ts';
import { UnsupportedProtoError } from '../../../hack/generate/proto/errors.ts';
import { protoOutputs } from '../../../hack/generate/proto/outputs.ts';
import { allKinds } from '../../../src/kinds/kinds.ts';
import { enums, kinds, messages } from '../../../src/proto/generated/descriptors.ts';
import { wellKnownType } from '../../../src/proto/well-known.ts';

const root = new URL('../../../', import.meta.url);

/** One line per field and enum value, sorted, in the form of wire-contract.txt. */
function wireContract(): string[] {
  const fields = Object.entries(messages).flatMap(([message, all]) =>
    all.map(({ number, protoName, label, oneof, ...field }) => {
      const of = 'of' in field ? field.of : field.type;
      return [message, number, protoName, label, of, oneof && `oneof ${oneof}`]
        .filter((part) => part !== undefined)
        .join(' ');
    }),
  );
  const values = Object.entries(enums).flatMap(([name, all]) =>
    all.map(([number, value]) => `${name} ${number} ${value}`),
  );
  return [...fields, ...values];
}

function describeSource(source: string): DescriptorSet {
  const definitions = new protobuf.Root();
  protobuf.parse(`syntax = "proto3"; package p; ${source}`, definitions, { keepCase: true });
  definitions.resolveAll();
  return describeDefinitions(definitions);
}

describe('the generated descriptors', () => {
  it('are generated from schema/proto', async () => {
    for (const { path, content } of await protoOutputs(allKinds)) {
      strictEqual(await readFile(new URL(path, root), 'utf8'), content, `${path} is stale: run npm run generate`);
    }
  });

  it('keep every number and type on record: stored rows are read with them', async () => {
    const record = await readFile(new URL('wire-contract.txt', import.meta.url), 'utf8');
    deepStrictEqual(wireContract(), record.trimEnd().split('\n'));
  });

  it('have a message or a codec for every type that a field names', () => {
    for (const [name, fields] of Object.entries(messages)) {
      for (const field of fields) {
        if (field.type === 'message') ok(messages[field.of] ?? wellKnownType(field.of), `${name}.${field.name}`);
        if (field.type === 'enum') ok(enums[field.of], `${name}.${field.name}`);
      }
    }
  });

  it('give every kind the four fields of an object', () => {
    for (const kind of kinds) {
      const fields = messages[`michelangelo.api.v2.${kind}`]!.map(({ number, name }) => `${number} ${name}`);
      deepStrictEqual(fields, ['1 typeMeta', '2 metadata', '3 spec', '4 status']);
      const list = messages[`michelangelo.api.v2.${kind}List`]!.map(({ number, name }) => `${number} ${name}`);
      deepStrictEqual(list, ['1 typeMeta', '2 metadata', '3 items']);
    }
  });

  it('mark the blob fields', () => {
    const blobs = Object.entries(messages).flatMap(([name, fields]) =>
      fields.filter((field) => field.blob).map((field) => `${name.split('.').at(-1)!}.${field.protoName}`),
    );
    deepStrictEqual(blobs, [
      'ModelSpec.input_schema',
      'ModelSpec.predict_fields',
      'ModelSpec.published_fields',
      'ModelSpec.derived_fields',
      'ModelSpec.output_schema',
      'PipelineManifest.content',
      'PipelineRunStatus.conditions',
      'PipelineRunStatus.source_pipeline',
      'PipelineStatus.registered_workflow',
    ]);
  });

  it('keep the numbers of nested types and of enums with gaps', () => {
    deepStrictEqual(enums['michelangelo.api.v2.PipelineManifest.Type'], [
      [0, 'PIPELINE_MANIFEST_TYPE_INVALID'],
      [1, 'PIPELINE_MANIFEST_TYPE_YAML'],
      [3, 'PIPELINE_MANIFEST_TYPE_UNIFLOW'],
    ]);
    strictEqual(enums['michelangelo.api.v2.DataType']?.at(-1)?.[0], 21);
    strictEqual(messages['michelangelo.api.v2.ModelSpec.PredictionResult']?.length, 2);
    strictEqual(enums['michelangelo.api.LogicalOperator']?.[0]?.[1], 'LOGICAL_OPERATOR_AND');
  });

  it('never use a reserved number again', () => {
    const numbersOf = (message: string): number[] =>
      messages[`michelangelo.api.v2.${message}`]!.map(({ number }) => number);
    for (const number of [4, 6]) ok(!numbersOf('ClusterSpec').includes(number));
    ok(!numbersOf('ClusterStatus').includes(1));
    ok(!numbersOf('DeploymentSpec').includes(9));
  });
});

describe('describeDefinitions', () => {
  it('makes JSON names by the rule of protoc', () => {
    const source =
      'message M { string a_bc_d = 1; string imagePullingPolicy = 2; string llm2_spec = 3; string x_1 = 4; }';
    deepStrictEqual(
      describeSource(source).messages['p.M']?.map(({ name }) => name),
      ['aBcD', 'imagePullingPolicy', 'llm2Spec', 'x1'],
    );
  });

  it('sorts messages by name and fields by number', () => {
    const set = describeSource(
      'message B { string z = 2; string a = 1; } message A { oneof o { bool x = 1; } optional bool y = 2; }',
    );
    deepStrictEqual(Object.keys(set.messages), ['p.A', 'p.B']);
    deepStrictEqual(
      set.messages['p.B']?.map(({ number }) => number),
      [1, 2],
    );
    deepStrictEqual(set.messages['p.A'], [
      { number: 1, name: 'x', protoName: 'x', type: 'bool', oneof: 'o' },
      { number: 2, name: 'y', protoName: 'y', type: 'bool', label: 'optional' },
    ]);
  });

  const unsupported: Readonly<Record<string, string>> = {
    'an unsigned number': 'message M { uint32 a = 1; }',
    'a fixed number': 'message M { fixed64 a = 1; }',
    'a map with keys that are not strings': 'message M { map<int32, string> a = 1; }',
    'two fields with one JSON name': 'message M { string a_b = 1; string aB = 2; }',
    'two names for one enum number': 'enum E { option allow_alias = true; A = 0; B = 0; }',
  };
  for (const [what, source] of Object.entries(unsupported)) {
    it(`refuses ${what}`, () => {
      throws(() => describeSource(source), UnsupportedProtoError);
    });
  }
});
