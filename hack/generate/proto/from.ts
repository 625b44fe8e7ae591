// Brings schema/proto and the catalogue of kinds up to the definitions of a newer original. Only what differs is written, and
// only what adds: a number or a type that changes would break stored rows.
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import protobuf from 'protobufjs';
import { CodedError, messageOf } from '../../../src/base/errors.ts';
import type { FieldDescriptor } from '../../../src/proto/descriptor.ts';
import type { Output } from '../output.ts';
import { type DescriptorSet, describeDefinitions } from './descriptors.ts';
import { baseDefinitions, definitionFiles, type ProtoFile } from './parse.ts';

const FOLDERS: Readonly<Record<string, string>> = {
  'michelangelo.api': 'michelangelo/api',
  'michelangelo.api.v2': 'michelangelo/api/v2',
};
const CATALOGUE = 'src/kinds/catalogue.ts';

/** The definitions cannot be taken as they are. Nothing was written. */
export class NewerDefinitionsError extends CodedError {
  constructor(problems: readonly string[]) {
    super('PROTO_DEFINITIONS_REFUSED', `The definitions are not taken:\n${problems.join('\n')}`);
  }
}

export interface Updates {
  readonly outputs: readonly Output[];
  /** What is new, one line each. */
  readonly news: readonly string[];
}

/** What to write so that schema/proto and the catalogue have what the folder has. */
export async function updatesFrom(folder: string, catalogue: string): Promise<Updates> {
  const own = await definitionFiles();
  const theirs = await theirFiles(folder);
  if (theirs.length === 0)
    throw new NewerDefinitionsError([`${folder}: no definition of ${Object.keys(FOLDERS).join(' or ')}`]);
  const merged = [...own.filter(({ path }) => !theirs.some((file) => file.path === path)), ...theirs];
  const [before, root] = [describeDefinitions(resolved(own)), resolved(merged)];
  const after = describeDefinitions(root);
  const problems = breaking(before, after);
  if (problems.length > 0) throw new NewerDefinitionsError(problems);
  const changed = theirs.filter((file) => differs(namesIn(file), before, after));
  const kinds = kindUpdates(root, after, catalogue);
  const outputs = changed.map(({ path, text }) => ({ path: `schema/proto/${path}`, content: text }));
  return {
    outputs: kinds.text === catalogue ? outputs : [...outputs, { path: CATALOGUE, content: kinds.text }],
    news: [...additions(before, after), ...kinds.news],
  };
}

/** By package, whatever the folders are called; the options are our own, which say less. */
async function theirFiles(folder: string): Promise<readonly ProtoFile[]> {
  const entries = (await readdir(folder, { recursive: true })).filter((entry) => entry.endsWith('.proto')).sort();
  const files = await Promise.all(
    entries.map(async (entry) => {
      const text = await readFile(join(folder, entry), 'utf8');
      const target = FOLDERS[/^\s*package\s+([\w.]+)\s*;/m.exec(text)?.[1] ?? ''];
      return target === undefined ? [] : [{ path: `${target}/${basename(entry)}`, text }];
    }),
  );
  return files
    .flat()
    .filter(
      ({ path, text }) => !path.endsWith('/options.proto') && /^\s*(message|enum)\s/m.test(text) && !isService(text),
    );
}

/** Calls and their messages, which name more of Kubernetes than any stored object: nothing of them is stored. */
function isService(text: string): boolean {
  return /^\s*service\s+\w+\s*\{/m.test(text);
}

function resolved(files: readonly ProtoFile[]): protobuf.Root {
  const root = baseDefinitions();
  const attempt = (what: string, step: () => unknown): void => {
    try {
      step();
    } catch (error) {
      throw new NewerDefinitionsError([`${what}: ${messageOf(error)}`]);
    }
  };
  for (const { path, text } of files) attempt(path, () => protobuf.parse(text, root, { keepCase: true }));
  attempt('A type that no file defines', () => root.resolveAll());
  return root;
}

function namesIn({ text }: ProtoFile): readonly string[] {
  const parsed = new protobuf.Root();
  protobuf.parse(text, parsed, { keepCase: true });
  const names: string[] = [];
  const visit = (parent: protobuf.NamespaceBase): void => {
    for (const nested of parent.nestedArray) {
      if (nested instanceof protobuf.Type || nested instanceof protobuf.Enum) names.push(nested.fullName.slice(1));
      if (nested instanceof protobuf.Namespace) visit(nested);
    }
  };
  visit(parsed);
  return names;
}

function differs(names: readonly string[], before: DescriptorSet, after: DescriptorSet): boolean {
  const part = ({ messages, enums }: DescriptorSet): string =>
    JSON.stringify(names.map((name) => [messages[name], enums[name]]));
  return part(before) !== part(after);
}

/** Fields and values that rows were written with, and that are not what they were. */
function breaking(before: DescriptorSet, after: DescriptorSet): readonly string[] {
  const wire = ({ number, protoName, type, label, ...field }: FieldDescriptor): string =>
    [number, protoName, label ?? '', 'of' in field ? field.of : type].join(' ');
  const fields = Object.entries(before.messages).flatMap(([name, known]) =>
    known
      .filter((field) => !after.messages[name]?.some((one) => wire(one) === wire(field)))
      .map((field) => `${name}: field ${wire(field)} is gone or another one; rows were written with it`),
  );
  const values = Object.entries(before.enums).flatMap(([name, known]) =>
    known
      .filter(([number, value]) => !after.enums[name]?.some((one) => one[0] === number && one[1] === value))
      .map(([number, value]) => `${name}: value ${number} ${value} is gone or another one`),
  );
  return [...fields, ...values];
}

function additions(before: DescriptorSet, after: DescriptorSet): readonly string[] {
  return Object.entries(after.messages).flatMap(([name, fields]) => {
    const known = before.messages[name];
    if (known === undefined) return [`message ${name}`];
    return fields
      .filter(({ number }) => !known.some((one) => one.number === number))
      .map((one) => `field ${name}.${one.protoName}`);
  });
}

interface KindUpdates {
  readonly text: string;
  readonly news: readonly string[];
}

/** New kinds as optional ones at the end, new indexed columns at the end of those of their kind. */
function kindUpdates(root: protobuf.Root, set: DescriptorSet, catalogue: string): KindUpdates {
  let text = catalogue;
  const news: string[] = [];
  for (const kind of set.kinds) {
    const type = root.lookupType(`michelangelo.api.v2.${kind}`);
    const indexes = indexesOf(type, set);
    if (!text.includes(`kind: '${kind}',`)) {
      text = text.replace(/\n\];\n*$/, `\n${newKind(type, indexes)}];\n`);
      news.push(`kind ${kind}`);
      continue;
    }
    for (const index of indexes.filter(({ key }) => !columnsOf(text, kind).includes(`'${key}'`))) {
      text = withIndex(text, kind, index.code);
      news.push(`indexed column ${index.key} of ${kind}`);
    }
  }
  return { text, news };
}

interface Index {
  readonly key: string;
  readonly code: string;
}

function newKind(type: protobuf.Type, indexes: readonly Index[]): string {
  const resource = optionsOf(type, 'resource')[0] ?? {};
  const immutable = resource['immutable'] === true;
  const plural = typeof resource['name'] === 'string' ? resource['name'] : `${type.name.toLowerCase()}s`;
  return [
    '  {',
    '    ...ordinary,',
    `    kind: '${type.name}',`,
    `    plural: '${plural}',`,
    `    table: '${type.name.toLowerCase()}',`,
    '    optional: true,',
    ...(immutable ? ['    immutable: true,'] : []),
    `    indexes: [${indexes.map(({ code }) => code).join(', ')}],`,
    '    printColumns: [],',
    '  },\n',
  ].join('\n');
}

/** The text between the brackets of a kind's indexes. */
function span(text: string, kind: string): readonly [number, number] {
  const begin = text.indexOf('indexes: [', text.indexOf(`kind: '${kind}',`)) + 'indexes: ['.length;
  let depth = 1;
  let end = begin;
  for (; depth > 0; end += 1) depth += text[end] === '[' ? 1 : text[end] === ']' ? -1 : 0;
  return [begin, end - 1];
}

function columnsOf(text: string, kind: string): string {
  return text.slice(...span(text, kind));
}

function withIndex(text: string, kind: string, code: string): string {
  const [begin, end] = span(text, kind);
  const inside = text.slice(begin, end).trimEnd();
  const separator = inside === '' ? '' : inside.endsWith(',') ? ' ' : ', ';
  return `${text.slice(0, begin)}${inside}${separator}${code}${text.slice(end)}`;
}

type OptionValue = Readonly<Record<string, unknown>>;

/** All values of an option of the original's, which may be repeated. */
function optionsOf(type: protobuf.Type, name: string): readonly OptionValue[] {
  const parsed: readonly OptionValue[] = (type.parsedOptions as readonly OptionValue[] | undefined) ?? [];
  return parsed.flatMap((option) => {
    const value = option[`(michelangelo.api.${name})`] ?? option[`(${name})`];
    return (Array.isArray(value) ? value : [value]).filter(
      (one): one is OptionValue => typeof one === 'object' && one !== null,
    );
  });
}

function indexesOf(type: protobuf.Type, set: DescriptorSet): readonly Index[] {
  return optionsOf(type, 'index').map((option) => {
    const path = String(option['path']);
    const { key: named } = option;
    const key = typeof named === 'string' ? named : (path.split('.').at(-1) ?? path);
    return { key, code: indexCode(type.name, { path, key }, set) };
  });
}

const TIMES = ['google.protobuf.Timestamp', 'k8s.io.apimachinery.pkg.apis.meta.v1.Time'];

/** As src/kinds/columns.ts has it. */
function indexCode(
  kind: string,
  { path, key }: { readonly path: string; readonly key: string },
  set: DescriptorSet,
): string {
  const { field, json } = fieldAt(kind, path, set);
  const call = (name: string, ...more: readonly string[]): string =>
    `${name}(${[key, json, ...more].map((part) => `'${part}'`).join(', ')})`;
  switch (field.type) {
    case 'string':
      return call('text');
    case 'int32':
      return call('int');
    case 'bool':
      return call('bool');
    case 'enum':
      return call('enumName', set.enums[field.of]?.[0]?.[1] ?? '');
    case 'message':
      if (field.of === 'michelangelo.api.ResourceIdentifier') return call('reference');
      if (TIMES.includes(field.of)) return call('time');
      break;
    default:
  }
  throw new NewerDefinitionsError([`${kind}: the index ${key} on ${path} has a type without a column`]);
}

function fieldAt(
  kind: string,
  path: string,
  set: DescriptorSet,
): { readonly field: FieldDescriptor; readonly json: string } {
  let message = `michelangelo.api.v2.${kind}`;
  let field: FieldDescriptor | undefined;
  const json: string[] = [];
  for (const step of path.split('.')) {
    field = set.messages[message]?.find(({ protoName, name }) => protoName === step || name === step);
    if (field === undefined) throw new NewerDefinitionsError([`${kind}: the index on ${path} names no field`]);
    json.push(field.name);
    message = field.type === 'message' ? field.of : '';
  }
  if (field === undefined) throw new NewerDefinitionsError([`${kind}: an index without a path`]);
  return { field, json: json.join('.') };
}
