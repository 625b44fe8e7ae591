import { stringify } from 'yaml';
import { generatedNotice, type Output } from '../output.ts';
import { loadDescriptors } from '../proto/descriptors.ts';
import { UnsupportedProtoError } from '../proto/errors.ts';
import { type CrdKind, crdFileName, crdOf, openFields } from './crd.ts';

const header = generatedNotice('#', 'schema/proto and src/kinds');

/** One file per kind; kinds that are installed only on demand go to a folder of their own. */
export async function crdOutputs(catalogue: readonly CrdKind[]): Promise<readonly Output[]> {
  const set = await loadDescriptors();
  return catalogue.map((kind) => {
    if (!set.kinds.includes(kind.kind)) throw new UnsupportedProtoError(kind.kind, 'the kind has no root message');
    return {
      path: `${kind.optional ? 'crds/optional' : 'crds'}/${crdFileName(kind)}.yaml`,
      content: header + stringify(crdOf(kind, set), { lineWidth: 0, aliasDuplicateObjects: false }),
    };
  });
}

/** Fields of all kinds in which an object can be nested without end. */
export async function openFieldsOf(catalogue: readonly CrdKind[]): Promise<readonly (readonly string[])[]> {
  const set = await loadDescriptors();
  const paths = catalogue.flatMap((kind) => openFields(kind, set));
  return [...new Map(paths.map((path) => [path.join('.'), path])).values()];
}
