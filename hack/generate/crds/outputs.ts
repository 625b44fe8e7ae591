import { stringify } from 'yaml';
import { generatedNotice, type Output } from '../output.ts';
import { loadDescriptors } from '../proto/descriptors.ts';
import { UnsupportedProtoError } from '../proto/errors.ts';
import { type CrdKind, crdFileName, crdOf } from './crd.ts';

const header = generatedNotice('#', 'schema/proto and schema/kinds');

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
