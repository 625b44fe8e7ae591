// Writes schema/proto/k8s.io/api/core/v1/generated.proto: the pod template and every message in it, out of the published
// definitions of Kubernetes (the Go modules k8s.io/api and k8s.io/apimachinery). Only this needs Go, and only when the
// definitions are to become newer: npm run generate -- --kubernetes
//
// The .proto files of Kubernetes say neither what is a pointer in Go, where absent and zero differ, nor what Kubernetes
// writes into the JSON of the message around it. The tags of the Go types do.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { CodedError } from '../../src/base/errors.ts';

const root = join(import.meta.dirname, '../..');
const target = 'schema/proto/k8s.io/api/core/v1/generated.proto';
const PACKAGE = 'k8s.io.api.core.v1';
const WHOLE = 'PodTemplateSpec';
/** Messages of other packages that a pod template names; their definitions lie beside this one. */
const IMPORTS: Readonly<Record<string, string>> = {
  'k8s.io.apimachinery.pkg.apis.meta.v1': 'k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto',
  'k8s.io.apimachinery.pkg.api.resource': 'k8s.io/apimachinery/pkg/api/resource/generated.proto',
  'k8s.io.apimachinery.pkg.util.intstr': 'k8s.io/apimachinery/pkg/util/intstr/generated.proto',
};

class KubernetesDefinitionError extends CodedError {
  constructor(where: string, reason: string) {
    super('PROTO_DEFINITION_UNSUPPORTED', `${where}: ${reason}`);
  }
}

interface GoField {
  readonly pointer: boolean;
  readonly inline: boolean;
  readonly jsonName: string;
}

/** The version that the control plane of the tests has. */
function versionOf(module: string): string {
  const goMod = readFileSync(join(root, 'hack/local/control-plane/go.mod'), 'utf8');
  const version = new RegExp(`^\\s*${module.replaceAll('.', '\\.')} (v\\S+)`, 'm').exec(goMod)?.[1];
  if (version === undefined) throw new KubernetesDefinitionError('hack/local/control-plane/go.mod', `no ${module}`);
  return version;
}

function moduleFolder(module: string, version: string): string {
  const printed = execFileSync('go', ['mod', 'download', '-json', `${module}@${version}`], { encoding: 'utf8' });
  return (JSON.parse(printed) as { readonly Dir: string }).Dir;
}

/** Type and field number → what the tags of the Go type say. */
function readGoTypes(source: string): ReadonlyMap<string, GoField> {
  const fields = new Map<string, GoField>();
  let type = '';
  for (const line of source.split('\n')) {
    type = /^type (\w+) struct \{/.exec(line)?.[1] ?? type;
    const match = /^\t(?:\w+\s+)?(\S+)\s+`.*json:"([^"]*)".*protobuf:"\w+,(\d+)/.exec(line);
    if (match === null) continue;
    const [, goType = '', json = '', number = ''] = match;
    const [jsonName = '', ...options] = json.split(',');
    fields.set(`${type} ${number}`, { pointer: goType.startsWith('*'), inline: options.includes('inline'), jsonName });
  }
  return fields;
}

function parseTypes(text: string, packageName: string): protobuf.Namespace {
  const parsed = new protobuf.Root();
  protobuf.parse(text, parsed, { keepCase: true });
  return parsed.lookup(packageName) as protobuf.Namespace;
}

/** The whole message and all it names within its package, sorted by name. */
function closure(core: protobuf.Namespace): readonly protobuf.Type[] {
  const found = new Map<string, protobuf.Type>();
  const visit = (name: string): void => {
    if (found.has(name)) return;
    const type = core.lookupType(name);
    found.set(name, type);
    for (const { type: of } of type.fieldsArray) if (core.get(of) instanceof protobuf.Type) visit(of);
  };
  visit(WHOLE);
  return [...found.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
}

function renderField(type: protobuf.Type, field: protobuf.Field, go: ReadonlyMap<string, GoField>): string {
  const where = `${type.name}.${field.name}`;
  const tags = go.get(`${type.name} ${field.id}`);
  if (tags === undefined) throw new KubernetesDefinitionError(where, 'the Go type has no such field');
  if (!tags.inline && tags.jsonName !== field.name) {
    throw new KubernetesDefinitionError(where, `its name in JSON is ${tags.jsonName}`);
  }
  const of = field.type.replace(/^\./, '');
  const scalar = /^(string|bytes|bool|int32|int64)$/.test(of);
  const name = `${of} ${field.name} = ${field.id}`;
  if (field instanceof protobuf.MapField) return `  map<${field.keyType}, ${of}> ${field.name} = ${field.id};`;
  // Lists of numbers are not packed, which proto3 would do.
  if (field.repeated) return `  repeated ${name}${of.startsWith('int') ? ' [packed = false]' : ''};`;
  if (tags.inline) return `  ${name} [(ingester.inline) = true];`;
  return `  ${scalar && tags.pointer ? 'optional ' : ''}${name};`;
}

function render(types: readonly protobuf.Type[], go: ReadonlyMap<string, GoField>, version: string): string {
  const messages = types.map((type) =>
    [
      `message ${type.name} {`,
      ...type.fieldsArray.toSorted((left, right) => left.id - right.id).map((field) => renderField(type, field, go)),
      '}',
    ].join('\n'),
  );
  return [
    `// The pod template of Kubernetes and all that it holds, out of k8s.io/api ${version} (Apache-2.0).`,
    '// Written by hack/generate/kubernetes.ts. Do not edit.',
    '// `optional` marks what Kubernetes keeps as a pointer: there, absent and zero differ. `inline` marks a message whose',
    '// fields are members of the object around it in the JSON of Kubernetes.',
    'syntax = "proto3";',
    '',
    `package ${PACKAGE};`,
    '',
    'import "ingester/options.proto";',
    ...Object.values(IMPORTS)
      .sort()
      .map((path) => `import "${path}";`),
    '',
    messages.join('\n\n'),
    '',
  ].join('\n');
}

const version = versionOf('k8s.io/api');
const folder = join(moduleFolder('k8s.io/api', version), 'core/v1');
const core = parseTypes(readFileSync(join(folder, 'generated.proto'), 'utf8'), PACKAGE);
const types = closure(core);
for (const type of types) {
  for (const field of type.fieldsArray) {
    const of = field.type.replace(/^\./, '');
    const known = !of.includes('.') || IMPORTS[of.slice(0, of.lastIndexOf('.'))] !== undefined;
    if (!known) throw new KubernetesDefinitionError(`${type.name}.${field.name}`, `${of} has no rule`);
  }
}
const go = readGoTypes(readFileSync(join(folder, 'types.go'), 'utf8'));
writeFileSync(join(root, target), render(types, go, version));
process.stdout.write(`${target}: ${types.length} messages\n`);
