import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AggregateQuery, Figure } from '../../src/storage/aggregate.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

const at = new Date('2026-05-06T07:08:09.123Z');
const namespace = 'counted';
const CREATED = 'metadata.creationTimestamp';

/** What every MetadataStorage promises about counts and figures: groups, their order, their bounds, refusals. */
export function storageAggregateContract(
  name: string,
  storageFor: () => MetadataStorage,
  medians: 'answered' | 'refused' = 'answered',
): void {
  const among = <T>([least, median, most]: readonly [T, T, T]): readonly T[] =>
    medians === 'answered' ? [least, median, most] : [least, most];
  const figuresOf = (field: string): readonly Figure[] =>
    among<Figure['figure']>(['min', 'p50', 'max']).map((figure) => ({ figure, field }));

  describe(`${name} as a source of figures`, () => {
    // Of ten models the last one is deleted; 4 have an owner; those of one algorithm differ in a blank at the end.
    before(async () => {
      const storage = storageFor();
      for (let index = 0; index < 10; index += 1) {
        const row = aModelRow(
          {
            uid: `counted-${index}`,
            name: `c${index}`,
            namespace,
            labels: { parity: index % 2 === 0 ? 'even' : 'odd' },
            creationTimestamp: `2026-0${(index % 2) + 1}-1${index % 3}T0${index}:00:00Z`,
          },
          {
            algorithm: index < 6 ? 'forest' : index < 8 ? 'forest ' : 'tree',
            revisionId: index,
            ...(index < 4 ? { owner: { name: 'ada' } } : {}),
          },
        );
        await (index === 9 ? storage.finish(row, at) : storage.upsert(row));
      }
    });

    const medianOf = (field: string): readonly Figure[] => (medians === 'answered' ? [{ figure: 'p50', field }] : []);
    const groups = async (query: AggregateQuery) =>
      (await storageFor().aggregate(modelKind, { namespace, ...query })).groups.map(({ key, count, figures }) => [
        ...key,
        count,
        ...figures,
      ]);

    it('counts everything that matches as one group, also where nothing matches', async () => {
      assert.deepEqual(await groups({}), [[9]]);
      assert.deepEqual(await groups({ deleted: 'included' }), [[10]]);
      assert.deepEqual(await groups({ states: ['deleted'] }), [[1]]);
      assert.deepEqual(await groups({ labels: [{ key: 'parity', operator: 'in', values: ['odd'] }] }), [[4]]);
      const none = { where: { field: 'spec.algorithm', operator: '=', value: 'none' } } as const;
      assert.deepEqual(await groups({ ...none, figures: figuresOf('spec.revisionId') }), [
        [0, ...among([null, null, null])],
      ]);
      assert.deepEqual(await groups({ ...none, groupBy: ['spec.algorithm'] }), []);
    });

    it('counts a restored object once, as what it is now, and the evicted one again once that is deleted', async () => {
      const storage = storageFor();
      const place = { namespace: 'restored', name: 'again' };
      const rowFrom = (uid: string, algorithm: string, from?: string): ReturnType<typeof aModelRow> =>
        aModelRow(
          { ...place, uid, annotations: from === undefined ? {} : { 'michelangelo/RestoredFrom': from } },
          { algorithm },
        );
      const counted = async (query: AggregateQuery = {}) =>
        groups({ namespace: place.namespace, groupBy: ['spec.algorithm'], ...query });
      const evict = async (row: ReturnType<typeof aModelRow>): Promise<void> => {
        await storage.requestEviction(row, at);
        await storage.finish(row, at);
      };
      await evict(rowFrom('restored-1', 'forest'));
      assert.deepEqual(await counted(), [['forest', 1]]);
      const second = rowFrom('restored-2', 'tree', 'restored-1');
      await storage.upsert(second);
      assert.deepEqual(await counted(), [['tree', 1]], 'the live one');
      assert.deepEqual(await counted({ figures: figuresOf(CREATED).slice(1, 2) }).then((found) => found.length), 1);
      assert.deepEqual(await counted({ states: ['evicted'] }), [['forest', 1]]);
      assert.deepEqual(await counted({ deleted: 'included' }), [
        ['forest', 1],
        ['tree', 1],
      ]);
      const elsewhere = { ...place, name: 'another', uid: 'restored-liar' };
      await storage.upsert(
        aModelRow({ ...elsewhere, annotations: { 'michelangelo/RestoredFrom': 'counted-0' } }, { algorithm: 'tree' }),
      );
      assert.deepEqual(await groups({}), [[9]], 'an object takes no other name out of a count');
      assert.deepEqual({ ...(await storage.getById(modelKind, 'restored-2'))?.labels }, {}, 'no label');
      await storage.finish(second, at);
      assert.deepEqual(await counted(), [
        ['forest', 1],
        ['tree', 1],
      ]);
    });

    it('looks in the namespaces that are named, and in no other', async () => {
      const { groups: found } = await storageFor().aggregate(modelKind, {
        namespaces: [namespace, 'another'],
        groupBy: ['metadata.namespace'],
      });
      assert.deepEqual(found, [{ key: [namespace], count: 9, figures: [] }]);
      assert.deepEqual(await groups({ namespaces: [] }), [[0]]);
    });

    it('counts in every namespace where none is named, without what is deleted', async () => {
      const storage = storageFor();
      const byNamespace = { groupBy: ['metadata.namespace'] };
      const { groups: present } = await storage.aggregate(modelKind, byNamespace);
      assert.deepEqual(
        present.find(({ key }) => key[0] === namespace),
        { key: [namespace], count: 9, figures: [] },
      );
      const all = await storage.aggregate(modelKind, { ...byNamespace, deleted: 'included' });
      assert.equal(all.groups.find(({ key }) => key[0] === namespace)?.count, 10);
      const { total } = await storage.list(modelKind, { count: 'yes', limit: 1 });
      assert.deepEqual((await storage.aggregate(modelKind, {})).groups, [{ key: [], count: total, figures: [] }]);
    });

    it('groups by a text in the order of its values, and tells apart what differs in blanks at the end', async () => {
      assert.deepEqual(await groups({ groupBy: ['spec.algorithm'] }), [
        ['forest', 6],
        ['forest ', 2],
        ['tree', 1],
      ]);
    });

    it('looks at each object where there are few, though the answer may be approximate', async () => {
      const asked = { namespace, groupBy: ['spec.algorithm'], figures: medianOf('spec.revisionId') };
      const exact = await storageFor().aggregate(modelKind, asked);
      assert.deepEqual(await storageFor().aggregate(modelKind, { ...asked, approximate: 'yes' }), exact);
      assert.equal(exact.oneIn, 1);
      for (const figure of ['min', 'max'] as const) {
        const figures = [{ figure, field: 'spec.revisionId' }];
        await assert.rejects(storageFor().aggregate(modelKind, { namespace, figures, approximate: 'yes' }), {
          code: 'STORAGE_QUERY_UNSUPPORTED',
        });
      }
    });

    it('has a group of the objects without a value, first', async () => {
      assert.deepEqual(await groups({ groupBy: ['spec.owner.name'] }), [
        [null, 5],
        ['ada', 4],
      ]);
    });

    it('groups by two fields, and by the day or month of a time', async () => {
      assert.deepEqual(await groups({ groupBy: [`${CREATED}.month`, 'spec.owner.name'] }), [
        ['2026-01', null, 3],
        ['2026-01', 'ada', 2],
        ['2026-02', null, 2],
        ['2026-02', 'ada', 2],
      ]);
      assert.deepEqual(
        (await groups({ groupBy: [`${CREATED}.day`] })).map(([day, count]) => `${String(day)} ${String(count)}`),
        ['2026-01-10 2', '2026-01-11 1', '2026-01-12 2', '2026-02-10 1', '2026-02-11 2', '2026-02-12 1'],
      );
    });

    it('has the largest groups first with a limit, and says whether it left some out', async () => {
      const storage = storageFor();
      const asked = { namespace, groupBy: ['spec.algorithm'] };
      assert.deepEqual(await storage.aggregate(modelKind, { ...asked, limit: 1 }), {
        groups: [{ key: ['forest'], count: 6, figures: [] }],
        more: 'some',
        oneIn: 1,
      });
      const all = await storage.aggregate(modelKind, { ...asked, limit: 3 });
      assert.deepEqual([all.groups.length, all.more], [3, 'none']);
    });

    it('has the smallest, the median and the largest number and time of each group', async () => {
      const byOwner = { groupBy: ['spec.owner.name'] };
      assert.deepEqual(await groups({ ...byOwner, figures: figuresOf('spec.revisionId') }), [
        [null, 5, ...among([4, 6, 8])],
        ['ada', 4, ...among([0, 1, 3])],
      ]);
      assert.deepEqual(await groups({ figures: figuresOf(CREATED) }), [
        [9, ...among(['2026-01-10T00:00:00.000000Z', '2026-01-12T08:00:00.000000Z', '2026-02-12T05:00:00.000000Z'])],
      ]);
    });

    it('leaves a missing value out of the figures', async () => {
      const storage = storageFor();
      const place = 'counted-missing';
      for (const [index, revisionId] of [7, 2 ** 40, 2 ** 40, 9].entries()) {
        // What does not fit the column has no value there.
        await storage.upsert(
          aModelRow({ uid: `missing-${index}`, name: `m${index}`, namespace: place }, { revisionId }),
        );
      }
      const figures = figuresOf('spec.revisionId');
      const { groups: found } = await storage.aggregate(modelKind, { namespace: place, figures });
      assert.deepEqual(found, [{ key: [], count: 4, figures: among([7, 7, 9]) }]);
    });

    it('finds the median of more values than a server lists by itself', { skip: medians === 'refused' }, async () => {
      const place = 'counted-many';
      const many = Array.from({ length: 501 }, (_, index) => index);
      await Promise.all(
        many.map((index) =>
          storageFor().upsert(
            aModelRow(
              {
                ...{ uid: `many-${index}`, name: `m${index}`, namespace: place },
                creationTimestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
              },
              { revisionId: 1000 - index },
            ),
          ),
        ),
      );
      const figures = [CREATED, 'spec.revisionId'].map((field) => ({ figure: 'p50', field }) as const);
      const { groups: found } = await storageFor().aggregate(modelKind, { namespace: place, figures });
      assert.deepEqual(found, [{ key: [], count: 501, figures: ['2026-01-01T00:04:10.000000Z', 750] }]);
    });

    const median: AggregateQuery = { figures: [{ figure: 'p50', field: 'spec.revisionId' }] };
    const refused: readonly (readonly [string, AggregateQuery, RegExp])[] = [
      ...(medians === 'refused' ? ([['a median', median, /median over the rows of several shards/]] as const) : []),
      [
        'a group by a field without a column',
        { groupBy: ['spec.secret'] },
        /groups by "spec\.secret".*spec\.algorithm/,
      ],
      ['a group by a moment', { groupBy: [CREATED] }, /metadata\.creationTimestamp\.day/],
      ['a group by the day of a text', { groupBy: ['spec.algorithm.day'] }, /groups by "spec\.algorithm\.day"/],
      ['a group by the uid', { groupBy: ['metadata.uid'] }, /groups by "metadata\.uid"/],
      ['three groups', { groupBy: ['spec.algorithm', 'spec.source', 'spec.kind'] }, /more than 2 fields/],
      ['the smallest text', { figures: [{ figure: 'min', field: 'spec.algorithm' }] }, /min of .*spec\.revisionId/],
      ['a limit of nothing', { limit: 0 }, /from 1 to 1000/],
      ['a condition without a column', { where: { field: 'spec.x', operator: 'isNull' } }, /field "spec\.x"/],
    ];
    for (const [what, query, message] of refused) {
      it(`refuses ${what}`, async () => {
        await assert.rejects(storageFor().aggregate(modelKind, query), message);
      });
    }

    it('refuses groups by a sensitive field, and figures of one', async () => {
      const kind = {
        ...modelKind,
        sensitive: [
          ['spec', 'owner'],
          ['spec', 'revisionId'],
        ],
      };
      const asks: readonly AggregateQuery[] = [
        { groupBy: ['spec.owner.name'] },
        { groupBy: ['owner'] },
        { figures: [{ figure: 'max', field: 'spec.revisionId' }] },
      ];
      for (const query of asks) {
        const refusal = await storageFor().aggregate(kind, query).then(String, String);
        assert.match(refusal, /not supported/);
        assert.doesNotMatch(refusal.replace(/.*Supported are/s, ''), /spec\.owner|spec\.revisionId/);
      }
    });

    it('refuses more than 1000 groups, and has the first 1000 of them with a limit', async () => {
      const storage = storageFor();
      const place = 'counted-many';
      const rows = Array.from({ length: 1001 }, (_, index) =>
        aModelRow({ uid: `many-${index}`, name: `m${index}`, namespace: place }),
      );
      await Promise.all(rows.map((row) => storage.upsert(row)));
      const asked = { namespace: place, groupBy: ['metadata.name'] };
      await assert.rejects(
        storage.aggregate(modelKind, asked),
        /more than 1000 groups; ask for the largest with a limit/,
      );
      const { groups: found, more } = await storage.aggregate(modelKind, { ...asked, limit: 1000 });
      assert.deepEqual([found.length, more], [1000, 'some']);
    });
  });
}
