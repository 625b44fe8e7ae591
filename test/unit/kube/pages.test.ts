import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient } from '../../../src/kube/client.ts';
import { KubeError, PageTooLargeError } from '../../../src/kube/errors.ts';
import { pagesOf } from '../../../src/kube/pages.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { aModel } from '../../support/objects.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
const MIB = 1024 * 1024;

/** A server whose objects have these sizes; what it sends is cut off where the caller takes no more. */
function serving(sizes: readonly number[]) {
  const limits: number[] = [];
  let mostSent = 0;
  const list: KubeClient['list'] = (_resource, { limit, continueToken, mostBytes }) => {
    limits.push(limit);
    const from = Number(continueToken ?? 0);
    const end = Math.min(from + limit, sizes.length);
    const bytes = sizes.slice(from, end).reduce((sum, size) => sum + size, 0);
    mostSent = Math.max(mostSent, Math.min(bytes, mostBytes ?? bytes));
    if (bytes > (mostBytes ?? bytes)) return Promise.reject(new PageTooLargeError(mostBytes ?? 0));
    const items = sizes.slice(from, end).map((_, index) => asWatched(aModel({ name: `m${from + index}` })));
    return Promise.resolve({
      items,
      bytes,
      resourceVersion: '9',
      continueToken: end < sizes.length ? String(end) : undefined,
    });
  };
  return { client: { list } satisfies Pick<KubeClient, 'list'>, limits, mostSent: () => mostSent };
}

async function namesOf(
  client: Pick<KubeClient, 'list'>,
  consistency: 'one-version' | 'each-page' = 'one-version',
): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { items } of pagesOf(client, resource, { consistency }, new AbortController().signal)) {
    names.push(...items.map(({ identity }) => identity.name));
  }
  return names;
}

const named = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `m${index}`);

describe('pages of a list', () => {
  it('have hundreds of small objects, after a few calls', async () => {
    const { client, limits } = serving(Array.from({ length: 2000 }, () => 2000));
    assert.deepEqual(await namesOf(client), named(2000));
    assert.deepEqual(limits, [4, 16, 64, 256, 500, 500, 500, 500]);
  });

  it('have as many of the largest objects as fit into the memory', async () => {
    const { client, mostSent } = serving(Array.from({ length: 50 }, () => 1.4 * MIB));
    assert.deepEqual(await namesOf(client), named(50));
    assert.ok(mostSent() <= 8 * MIB, `${mostSent()} bytes at once`);
  });

  it('are broken off and asked for anew where large objects come after many small ones, and lose none', async () => {
    const sizes = [...Array.from({ length: 1000 }, () => 1000), ...Array.from({ length: 500 }, () => 1.4 * MIB)];
    const { client, mostSent } = serving(sizes);
    assert.deepEqual(await namesOf(client), named(1500));
    assert.ok(mostSent() <= 8 * MIB, `${mostSent()} bytes at once`);
  });

  it('have one object that is larger than a page may be', async () => {
    const { client } = serving([1000, 20 * MIB, 1000]);
    assert.deepEqual(await namesOf(client), named(3));
  });

  it('become smaller where the server takes long for them, though the objects are small', async () => {
    const { client, limits } = serving(Array.from({ length: 400 }, () => 1000));
    const perObjectMs = 20;
    const slow: Pick<KubeClient, 'list'> = {
      list: async (...call) => {
        const page = await client.list(...call);
        return { ...page, tookMs: page.items.length * perObjectMs };
      },
    };
    assert.deepEqual(await namesOf(slow), named(400));
    assert.deepEqual(limits.slice(0, 5), [4, 16, 50, 50, 50]);
  });

  it('are asked for again with few objects where the server did not answer in time', async () => {
    const { client, limits } = serving(Array.from({ length: 1000 }, () => 1000));
    const overcharged: Pick<KubeClient, 'list'> = {
      list: (...call) =>
        call[1].limit > 100 ? Promise.reject(new KubeError('Unavailable', 'too late')) : client.list(...call),
    };
    assert.deepEqual(await namesOf(overcharged), named(1000));
    assert.ok(Math.max(...limits) <= 100);
  });

  it('end where the server does not answer for few objects either', async () => {
    const down = new KubeError('Unavailable', 'connection refused');
    await assert.rejects(namesOf({ list: () => Promise.reject(down) }), down);
  });

  describe('whose version the server has forgotten', () => {
    /** The third page expires, and with it every token of before. */
    function forgetting(renewed: string | undefined): Pick<KubeClient, 'list'> {
      const { client } = serving(Array.from({ length: 100 }, () => 1000));
      let pages = 0;
      return {
        list: (resourceOf, { continueToken, ...options }, signal) => {
          pages += 1;
          if (pages === 3) return Promise.reject(new KubeError('Expired', 'too old', { continueToken: renewed }));
          const from = continueToken === 'renewed' ? '20' : continueToken;
          return client.list(
            resourceOf,
            { ...options, ...(from === undefined ? {} : { continueToken: from }) },
            signal,
          );
        },
      };
    }

    it('go on behind the last one where each may be of its own version', async () => {
      assert.deepEqual(await namesOf(forgetting('renewed'), 'each-page'), named(100));
    });

    it('end where they are to be of one version, and where the server does not say how to go on', async () => {
      const expired = (error: unknown): boolean => error instanceof KubeError && error.reason === 'Expired';
      await assert.rejects(namesOf(forgetting('renewed'), 'one-version'), expired);
      await assert.rejects(namesOf(forgetting(undefined), 'each-page'), expired);
    });

    it('end where the continue token of the server leads to the same failure', async () => {
      const expired = new KubeError('Expired', 'too old', { continueToken: 'again' });
      await assert.rejects(namesOf({ list: () => Promise.reject(expired) }, 'each-page'), expired);
    });
  });
});
