// What an image may be called: the grammar of registries and container runtimes. Patterns are without their ends, and such
// as Helm's schemas have them too.
import { CodedError } from '../../src/base/errors.ts';

const HOST = '(?:[\\w.-]+|\\[[0-9A-Fa-f:]+\\])(?::[0-9]+)?';
const PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';

export const REPOSITORY = `(?:${HOST}/)?${PART}(?:/${PART})*`;
export const TAG = '\\w[\\w.-]{0,127}';
export const DIGEST = 'sha256:[0-9a-f]{64}';

const REFERENCE = new RegExp(`^(?<newName>${REPOSITORY})(?:(?::(?<newTag>${TAG}))|(?::${TAG})?@(?<digest>${DIGEST}))$`);

export interface ImageParts {
  readonly newName: string;
  readonly newTag?: string;
  readonly digest?: string;
}

/** As kustomize wants them. Beside a digest a tag says nothing, and is left out. */
export function imageParts(image: string): ImageParts {
  const { newName, newTag, digest } = REFERENCE.exec(image)?.groups ?? {};
  if (newName === undefined) {
    const expected = 'registry.example/name:1.2.3 or registry.example/name@sha256: and 64 hexadecimal digits';
    throw new CodedError('RELEASE_IMAGE', `"${image}" is not an image with a tag or a digest: expected ${expected}.`);
  }
  if (digest !== undefined) return { newName, digest };
  return { newName, ...(newTag === undefined ? {} : { newTag }) };
}
