import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

const schemaFolder = join(dirname(fileURLToPath(import.meta.url)), '../../../schema/proto');
const require = createRequire(import.meta.url);

/** The definitions import these; protobufjs brings them. */
const wellKnownFiles = ['any', 'duration', 'struct', 'timestamp'] as const;

/** All definitions under schema/proto in one namespace tree, with every type reference resolved. */
export async function parseDefinitions(): Promise<protobuf.Root> {
  const root = baseDefinitions();
  for (const { text } of await definitionFiles()) protobuf.parse(text, root, { keepCase: true });
  root.resolveAll();
  return root;
}

export interface ProtoFile {
  /** Below schema/proto. */
  readonly path: string;
  readonly text: string;
}

export async function definitionFiles(): Promise<readonly ProtoFile[]> {
  return Promise.all(
    (await protoFiles()).map(async (path) => ({ path, text: await readFile(join(schemaFolder, path), 'utf8') })),
  );
}

/** What every file may import of Google's. */
export function baseDefinitions(): protobuf.Root {
  const root = new protobuf.Root();
  addWellKnownTypes(root);
  return root;
}

async function protoFiles(): Promise<readonly string[]> {
  const entries = await readdir(schemaFolder, { recursive: true });
  return entries.filter((entry) => entry.endsWith('.proto')).sort();
}

function addWellKnownTypes(root: protobuf.Root): void {
  for (const name of wellKnownFiles) {
    const definition = protobuf.common.get(`google/protobuf/${name}.proto`);
    if (definition?.nested !== undefined) root.addJSON(definition.nested);
  }
  const descriptor = require('protobufjs/google/protobuf/descriptor.json') as protobuf.INamespace;
  if (descriptor.nested !== undefined) root.addJSON(descriptor.nested);
}
