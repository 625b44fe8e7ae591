// The version check, proven on the real servers: whatever order the states of an object arrive in, and however often, the row
// ends as the last state says.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { MetadataStorage, StoredObject } from '../../src/storage/metadata-storage.ts';
import { useDatabase } from '../support/databases.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

interface Write {
  readonly call: 'upsert' | 'requestEviction' | 'delete' | 'finish';
  readonly resourceVersion: number;
}

const at = new Date('2026-05-06T07:08:09.000Z');

/** A life: live states, then possibly an end, versions rising. */
const lives: fc.Arbitrary<readonly Write[]> = fc
  .record({
    gaps: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 }),
    end: fc.constantFrom('none', 'finish', 'delete-then-finish', 'evict', 'evict-called-off'),
  })
  .map(({ gaps, end }) => {
    let version = 0;
    const next = (gap: number): number => (version += gap);
    const live = gaps.map((gap): Write => ({ call: 'upsert', resourceVersion: next(gap) }));
    if (end === 'none') return live;
    const intent: Write = { call: 'requestEviction', resourceVersion: next(1) };
    if (end === 'evict-called-off') return [...live, intent, { call: 'upsert', resourceVersion: next(2) }];
    const last: Write = { call: 'finish', resourceVersion: next(1) };
    if (end === 'finish') return [...live, last];
    if (end === 'evict') return [...live, intent, last, { call: 'finish', resourceVersion: next(1) }];
    const marked: Write = { call: 'delete', resourceVersion: version };
    return [...live, marked, { call: 'finish', resourceVersion: next(1) }];
  });

/** The same writes in any order, some of them repeated. */
const arrivals = lives.chain((life) =>
  fc
    .tuple(fc.shuffledSubarray([...life], { minLength: life.length }), fc.shuffledSubarray([...life]))
    .map(([order, repeats]) => ({ life, order: intentFirst([...order, ...repeats]) })),
);

/** Nothing ends an eviction before its intent is stored: the object is deleted only after that. */
function intentFirst(order: readonly Write[]): readonly Write[] {
  const intent = order.find(({ call }) => call === 'requestEviction');
  const end = order.findIndex(({ call }) => call === 'finish');
  return intent === undefined || end < 0 ? order : [...order.slice(0, end), intent, ...order.slice(end)];
}

async function play(
  storage: MetadataStorage,
  uid: string,
  writes: readonly Write[],
  name: string = uid,
): Promise<StoredObject | undefined> {
  for (const { call, resourceVersion } of writes) {
    const labels = { version: String(resourceVersion) };
    const row = aModelRow(
      { uid, name, resourceVersion: String(resourceVersion), labels },
      { revisionId: resourceVersion },
    );
    await (call === 'upsert' ? storage.upsert(row) : storage[call](row, at));
  }
  return storage.getById(modelKind, uid);
}

const comparable = (stored: StoredObject | undefined) => {
  const { updateTime: _, proto, json, labels, ...rest } = stored ?? assert.fail('no row');
  return {
    ...rest,
    labels: { ...labels },
    proto: Buffer.from(proto).toString('hex'),
    json: JSON.parse(json) as unknown,
  };
};

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`the version check on ${flavour}`, () => {
    const database = useDatabase(flavour);

    it('ends every history in the same row, whatever the order and the repeats', async () => {
      let counter = 0;
      await fc.assert(
        fc.asyncProperty(arrivals, async ({ life, order }) => {
          counter += 1;
          const uid = `history-${counter}`;
          const expected = comparable(await play(new MemoryStorage(), uid, life));
          assert.deepEqual(comparable(await play(database().storage, uid, order)), expected);
        }),
        { numRuns: 60 },
      );
    });

    it('keeps two objects of one name apart, however their states arrive', async () => {
      let counter = 0;
      await fc.assert(
        fc.asyncProperty(arrivals, arrivals, fc.infiniteStream(fc.boolean()), async (first, second, coin) => {
          counter += 1;
          const name = `reborn-${counter}`;
          const memory = new MemoryStorage();
          const uids = [`${name}-a`, `${name}-b`] as const;
          await play(memory, uids[0], first.life, name);
          await play(memory, uids[1], second.life, name);
          const waiting: readonly [Write[], Write[]] = [[...first.order], [...second.order]];
          while (waiting[0].length + waiting[1].length > 0) {
            const heads = coin.next().value === true ? 0 : 1;
            const side = waiting[heads].length > 0 ? heads : 1 - heads;
            const write = waiting[side as 0 | 1].shift();
            if (write !== undefined) await play(database().storage, uids[side as 0 | 1], [write], name);
          }
          for (const uid of uids) {
            const expected = comparable(await memory.getById(modelKind, uid));
            assert.deepEqual(comparable(await database().storage.getById(modelKind, uid)), expected);
          }
          const named = await database().storage.getByName(modelKind, 'a-namespace', name);
          assert.equal(named?.state, (await memory.getByName(modelKind, 'a-namespace', name))?.state);
        }),
        { numRuns: 25 },
      );
    });

    it('ends a history in the same row when its writes arrive at once', async () => {
      let counter = 0;
      await fc.assert(
        fc.asyncProperty(arrivals, async ({ life, order }) => {
          counter += 1;
          const uid = `at-once-${counter}`;
          const expected = comparable(await play(new MemoryStorage(), uid, life));
          await Promise.all(order.map((write) => play(database().storage, uid, [write])));
          assert.deepEqual(comparable(await database().storage.getById(modelKind, uid)), expected);
        }),
        { numRuns: 30 },
      );
    });
  });
}
