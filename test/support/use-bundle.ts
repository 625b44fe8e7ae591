import { after, before } from 'node:test';
import { type Bundle, type BundleOptions, startBundle } from '../../hack/local/bundle.ts';
import { CodedError } from '../../src/base/errors.ts';

/** A control plane, MySQL, webhook and reconciler of its own for the tests of one file. */
export function useBundle(options: BundleOptions = {}): () => Bundle {
  let bundle: Bundle | undefined;
  before(async () => {
    bundle = await startBundle(options);
  });
  after(() => bundle?.stop());
  return () => {
    if (bundle === undefined) throw new CodedError('TEST_SETUP', 'the bundle is there only while tests run');
    return bundle;
  };
}
