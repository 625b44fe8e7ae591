import type { KindDefinition } from '../../../src/api/kind.ts';
import type { DescriptorSet } from '../proto/descriptors.ts';
import { messageSchema, type Schema } from './schema.ts';

/** What the generator needs of a catalogue entry. */
export type CrdKind = Pick<KindDefinition, 'kind' | 'plural' | 'optional' | 'printColumns'>;

const group = 'michelangelo.api';
const version = 'v2';

/** The CustomResourceDefinition of a kind, as applied: without status and other fields that the server owns. */
export function crdOf(kind: CrdKind, set: DescriptorSet): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: crdFileName(kind) },
    spec: {
      group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
      },
      scope: 'Namespaced',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: printerColumns(kind),
          schema: { openAPIV3Schema: rootSchema(kind, set) },
        },
      ],
    },
  };
}

/** The API server wants a CRD to be named like this. */
export function crdFileName(kind: CrdKind): string {
  return `${kind.plural}.${group}`;
}

function printerColumns(kind: CrdKind): object[] {
  const columns = kind.printColumns.map(({ name, path, type }) => ({ name, type, jsonPath: path }));
  return [...columns, { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }];
}

/** Without apiVersion, kind and metadata, which the API server knows itself: the original would miss them in its own. */
function rootSchema(kind: CrdKind, set: DescriptorSet): Schema {
  const part = (name: string): Schema => messageSchema(set, `${group}.${version}.${kind.kind}${name}`);
  return {
    type: 'object',
    properties: { spec: part('Spec'), status: part('Status') },
  };
}

/** Where in the spec a client may nest as deep as it likes: the field below `spec` that has such a part. */
export function openFields(kind: CrdKind, set: DescriptorSet): readonly (readonly string[])[] {
  const { properties = {} } = messageSchema(set, `${group}.${version}.${kind.kind}Spec`);
  return Object.entries(properties)
    .filter(([, schema]) => JSON.stringify(schema).includes('"x-kubernetes-preserve-unknown-fields":true'))
    .map(([name]) => ['spec', name]);
}
