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
  const root = new protobuf.Root();
  addWellKnownTypes(root);
  for (const file of await protoFiles()) {
    protobuf.parse(await readFile(join(schemaFolder, file), 'utf8'), root, { keepCase: true });
  }
  root.resolveAll();
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
