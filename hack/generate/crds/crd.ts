import type { KindDefinition } from '../../../src/api/kind.ts';
import type { FieldDescriptor } from '../../../src/proto/descriptor.ts';
import { wellKnownType } from '../../../src/proto/well-known.ts';
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

/**
 * Where in the spec the CRD admits what may not be stored as it is: the fields below `spec` in which a client may nest as deep
 * as it likes, or write any text for a duration.
 */
export function openFields(kind: CrdKind, set: DescriptorSet): readonly (readonly string[])[] {
  const spec = `${group}.${version}.${kind.kind}Spec`;
  const { properties = {} } = messageSchema(set, spec);
  const isOpen = (name: string): boolean =>
    JSON.stringify(properties[name] ?? {}).includes('"x-kubernetes-preserve-unknown-fields":true');
  return (set.messages[spec] ?? [])
    .filter((field) => isOpen(field.name) || hasDuration(set, field))
    .map(({ name }) => ['spec', name]);
}

function hasDuration(set: DescriptorSet, field: FieldDescriptor, outer: readonly string[] = []): boolean {
  if (field.type !== 'message' || outer.includes(field.of)) return false;
  const { of } = field;
  return (
    wellKnownType(of)?.json === 'duration' ||
    (set.messages[of] ?? []).some((one) => hasDuration(set, one, [...outer, of]))
  );
}
