// The CRDs that the original's API server brings along: made from the definitions by the rules of its generator, those of
// pods from the Kubernetes it is built with. Nothing of this is shared with the generator of ours.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { findGo } from '../../../hack/local/control-plane-build.ts';
import { runCommand } from '../../../hack/local/run-command.ts';
import { CodedError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { catalogue } from '../../../src/kinds/catalogue.ts';

const require = createRequire(import.meta.url);
const definitions = join(import.meta.dirname, '../../../schema/proto');
/** That of the original's go.mod. */
const KUBERNETES = 'v0.31.2';
const quantity =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

/** All 14; undefined where there is no Go to fetch the definitions of Kubernetes with. */
export async function originalCrds(): Promise<readonly JsonObject[] | undefined> {
  if ((await findGo(process.env)) === undefined) return undefined;
  const modules = {
    'k8s.io/api/': await moduleFolder(`k8s.io/api@${KUBERNETES}`),
    'k8s.io/apimachinery/': await moduleFolder(`k8s.io/apimachinery@${KUBERNETES}`),
  };
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => {
    const found = Object.entries(modules).find(([prefix]) => target.startsWith(prefix));
    if (found !== undefined) return join(found[1], target.slice(found[0].length));
    if (target === 'google/protobuf/descriptor.proto') return require.resolve(`protobufjs/${target}`);
    return target.startsWith('google/') ? target : join(definitions, target);
  };
  const files = catalogue.map(({ kind }) => `michelangelo/api/v2/${snakeCase(kind)}.proto`);
  await root.load(files, { keepCase: true });
  root.resolveAll();
  return catalogue.map(({ kind, plural }) => crdOf(root, kind, plural));
}

async function moduleFolder(module: string): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), 'original-crds-'));
  try {
    const env = { ...process.env, GOWORK: 'off' };
    const { code, stdout, stderr } = await runCommand('go', ['mod', 'download', '-json', module], { cwd, env });
    if (code !== 0) throw new CodedError('TEST_SETUP', `go mod download ${module}: ${stdout}${stderr}`);
    return (JSON.parse(stdout) as { Dir: string }).Dir;
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

function snakeCase(kind: string): string {
  return kind.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

function crdOf(root: protobuf.Root, kind: string, plural: string): JsonObject {
  const properties = Object.fromEntries(
    root
      .lookupType(`michelangelo.api.v2.${kind}`)
      .fieldsArray.filter(({ name }) => name === 'spec' || name === 'status')
      .map((field) => [field.name, fieldSchema(field, [])]),
  );
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.michelangelo.api` },
    spec: {
      group: 'michelangelo.api',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v2',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', description: `The resource ${kind}.`, properties } },
          subresources: { status: {} },
        },
      ],
    },
  };
}

const scalars: Readonly<Record<string, JsonObject>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  bytes: { type: 'string', format: 'byte' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'string', format: 'int64', pattern: '^[-]?\\d{1,19}$' },
  float: { type: 'number', format: 'float' },
  double: { type: 'number', format: 'double' },
};
const open: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const special: Readonly<Record<string, JsonObject>> = {
  'google.protobuf.Any': {
    type: 'object',
    properties: { '@type': { type: 'string' }, value: { type: 'string', format: 'byte' } },
  },
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  'google.protobuf.Struct': open,
  'google.protobuf.Duration': { type: 'string' },
  'k8s.io.apimachinery.pkg.api.resource.Quantity': {
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern: quantity,
    'x-kubernetes-int-or-string': true,
  },
  'k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelector': {
    type: 'object',
    'x-kubernetes-map-type': 'atomic',
    properties: {
      matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
      matchExpressions: {
        type: 'array',
        items: {
          type: 'object',
          required: ['key', 'operator'],
          properties: {
            key: { type: 'string' },
            operator: { type: 'string' },
            values: { type: 'array', items: { type: 'string' } },
          },
        },
      },
    },
  },
};

function fieldSchema(field: protobuf.Field, outer: readonly string[]): JsonObject {
  const value = valueSchema(field, outer);
  if (field.repeated) return { type: 'array', items: value };
  if (!field.map) return value;
  if (value['type'] === 'object') return { type: 'object', additionalProperties: value };
  const { format: _, ...inMap } = value;
  return { type: 'object', additionalProperties: inMap };
}

function valueSchema(field: protobuf.Field, outer: readonly string[]): JsonObject {
  const { resolvedType } = field.resolve();
  if (resolvedType instanceof protobuf.Enum) return { type: 'string', enum: Object.keys(resolvedType.values) };
  if (resolvedType === null) return scalars[field.type] ?? { type: field.type };
  const name = resolvedType.fullName.slice(1);
  if (special[name] !== undefined) return special[name];
  if (outer.includes(name)) return open;
  const fields = resolvedType.fieldsArray.map(
    (each) => [jsonName(each.name), fieldSchema(each, [...outer, name])] as const,
  );
  const properties: JsonObject = Object.fromEntries(fields);
  return { type: 'object', ...(fields.length === 0 ? {} : { properties }) };
}

/** As the Go field is called, with its first letter small. */
function jsonName(name: string): string {
  const camel = name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return `${camel.slice(0, 1).toLowerCase()}${camel.slice(1)}`;
}
