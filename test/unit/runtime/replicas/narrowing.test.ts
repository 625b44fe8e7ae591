import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../../../src/base/hash.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { asWatched } from '../../../../src/kube/watched-object.ts';
import { bucketOf, shardSelectorOf } from '../../../../src/runtime/replicas/buckets.ts';
import { selectorFor } from '../../../../src/runtime/replicas/narrowing.ts';
import { aModel } from '../../../support/objects.ts';
import { RecordingLogger } from '../../../support/recording-logger.ts';

const own = new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
const isOwn = (uid: string): boolean => own.has(bucketOf(uid));
const uids = Array.from({ length: 40 }, (_, index) => sha256Hex(`lease ${index}`));

/** What a server with these Leases makes of a selector. */
function asked(there: readonly string[], select: (uid: string) => boolean): Promise<string | undefined> {
  const list: KubeClient['list'] = (_, { shardSelector }) => {
    const shown = shardSelector === undefined ? there : there.filter(select);
    const items = shown.map((uid) => asWatched(aModel({ name: uid, uid })));
    return Promise.resolve({ items, resourceVersion: '1', continueToken: undefined });
  };
  const asking = { client: { list }, namespace: 'system', logger: new RecordingLogger() };
  return selectorFor(own, asking, new AbortController().signal);
}

describe('the selector of the buckets of a replica', () => {
  it('is used where the API server shows the Leases of these buckets and no other', async () => {
    assert.equal(await asked(uids, isOwn), shardSelectorOf(own));
  });

  it('is not where the API server shows all, another part, or less', async () => {
    assert.equal(await asked(uids, () => true), undefined);
    assert.equal(await asked(uids, (uid) => bucketOf(`${uid}, hashed otherwise`) < 10), undefined);
    const [lost] = uids.filter(isOwn);
    assert.equal(await asked(uids, (uid) => isOwn(uid) && uid !== lost), undefined);
    assert.equal(await asked(uids, () => false), undefined);
  });

  it('is not where too few Leases are there to tell', async () => {
    assert.equal(await asked([], isOwn), undefined);
    assert.equal(await asked(uids.filter(isOwn), isOwn), undefined);
    assert.equal(
      await asked(
        uids.filter((uid) => !isOwn(uid)),
        isOwn,
      ),
      undefined,
    );
  });

  it('is not where the API server does not answer', async () => {
    const list = (): Promise<never> => Promise.reject(new TypeError('away'));
    const asking = { client: { list }, namespace: 'system', logger: new RecordingLogger() };
    assert.equal(await selectorFor(own, asking, new AbortController().signal), undefined);
  });
});
