import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Condition, FieldCondition, LabelRequirement, ListQuery } from '../../src/storage/list-query.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import { splitOwners } from '../../src/storage/owners.ts';
import type { ParameterValues, TemplatePage } from '../../src/storage/query-templates.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

const at = new Date('2026-05-06T07:08:09.123Z');
const namespace = 'listed';

/** What every MetadataStorage promises about lists: pages, order, selectors, refusals. */
export function storageListContract(name: string, storageFor: () => MetadataStorage): void {
  describe(`${name} as a list`, () => {
    before(async () => {
      const storage = storageFor();
      for (let index = 0; index < 12; index += 1) {
        const day = String((index % 4) + 1).padStart(2, '0');
        const labels: Record<string, string> = { parity: index % 2 === 0 ? 'even' : 'odd' };
        if (index < 3) labels['first'] = '';
        const metadata = { uid: `list-${String(index).padStart(2, '0')}`, name: `n${index}`, namespace, labels };
        const spec = {
          algorithm: index < 6 ? 'xgboost' : `Other_${index}`,
          ...(index % 3 === 0 ? {} : { owner: { name: `owner-${index % 3}` } }),
        };
        const row = aModelRow(
          { ...metadata, creationTimestamp: `2026-01-${day}T00:00:00Z` },
          { ...spec, revisionId: index },
        );
        await (index === 11 ? storage.finish(row, at) : storage.upsert(row));
      }
    });

    const uids = async (query: ListQuery): Promise<readonly number[]> => {
      const { items } = await storageFor().list(modelKind, { namespace, ...query });
      return items.map(({ uid }) => Number(uid.slice('list-'.length)));
    };
    const sorted = async (query: ListQuery): Promise<readonly number[]> =>
      (await uids(query)).toSorted((a, b) => a - b);

    it('has the newest objects first, without the deleted ones, and with their labels', async () => {
      assert.deepEqual(await uids({}), [7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0]);
      const { items } = await storageFor().list(modelKind, { namespace, limit: 1 });
      assert.deepEqual({ ...items[0]?.labels }, { parity: 'odd' });
    });

    it('includes deleted objects on request', async () => {
      assert.deepEqual((await uids({ deleted: 'included' })).at(0), 11);
    });

    const orders = ['metadata.creationTimestamp', 'metadata.name', 'spec.owner.name', 'revision_id'].flatMap((field) =>
      (['ascending', 'descending'] as const).map((direction) => ({ field, direction })),
    );
    for (const order of orders) {
      it(`pages by ${order.field} ${order.direction} without a gap or a repeat`, async () => {
        const all = await uids({ order });
        assert.equal(all.length, 11);
        for (const limit of [1, 3, 11]) {
          const seen: string[] = [];
          let token: string | undefined;
          do {
            const page = await storageFor().list(modelKind, {
              namespace,
              order,
              limit,
              ...(token === undefined ? {} : { continue: token }),
            });
            seen.push(...page.items.map(({ uid }) => uid));
            token = page.continue;
          } while (token !== undefined);
          assert.deepEqual(
            seen.map((uid) => Number(uid.slice('list-'.length))),
            all,
          );
        }
      });
    }

    it('tells texts apart that differ in blanks at their ends', async () => {
      const storage = storageFor();
      const place = 'blanks';
      const row = (uid: string, algorithm: string) =>
        aModelRow({ uid, name: uid, namespace: place, labels: { team: 'a' } }, { algorithm });
      await storage.upsert(row('blank-0', 'forest'));
      await storage.upsert(row('blank-1', 'forest '));
      const found = async (query: ListQuery): Promise<readonly string[]> =>
        (await storage.list(modelKind, { namespace: place, ...query })).items.map(({ uid }) => uid).sort();
      const field = 'spec.algorithm';
      assert.deepEqual(await found({ where: { field, operator: '=', value: 'forest' } }), ['blank-0']);
      assert.deepEqual(await found({ where: { field, operator: '=', value: 'forest ' } }), ['blank-1']);
      assert.deepEqual(await found({ where: { field, operator: '!=', value: 'forest' } }), ['blank-1']);
      assert.deepEqual(await found({ where: { field, operator: 'in', values: ['forest ', 'x'] } }), ['blank-1']);
      assert.deepEqual(await found({ where: { field, operator: 'notIn', values: ['forest ', 'x'] } }), ['blank-0']);
      assert.deepEqual(await found({ where: { field: 'metadata.name', operator: '=', value: 'blank-0 ' } }), []);
      assert.deepEqual(await found({ namespace: `${place} ` }), []);
      assert.deepEqual(await found({ labels: [{ key: 'team', operator: 'in', values: ['a '] }] }), []);
      assert.deepEqual(await found({ labels: [{ key: 'team ', operator: 'exists' }] }), []);
      assert.equal(await storage.getByName(modelKind, place, 'blank-0 '), undefined);
      assert.equal(await storage.getByName(modelKind, `${place} `, 'blank-0'), undefined);
      assert.equal(await storage.getById(modelKind, 'blank-0 '), undefined);
      assert.deepEqual(await storage.incarnations(modelKind, place, 'blank-0 ', 10), []);
      assert.equal((await storage.incarnations(modelKind, place, 'blank-0', 10)).length, 1);
    });

    it('says in which namespaces there are or were objects', async () => {
      const all = await storageFor().namespaces(modelKind, 1000);
      assert.deepEqual(all, all.toSorted());
      assert.ok(all.includes(namespace));
      assert.deepEqual(await storageFor().namespaces(modelKind, 1), all.slice(0, 1));
    });

    it('looks in many namespaces, and continues where the set of namespaces has changed', async () => {
      const among = Array.from({ length: 1000 }, (_, index) => `n${index}`);
      const asked = { namespaces: [...among, namespace], limit: 4 } as const;
      const first = await storageFor().list(modelKind, { namespace, ...asked });
      assert.equal(first.items.length, 4);
      assert.deepEqual(
        await uids({
          namespaces: [namespace, 'another'],
          ...(first.continue === undefined ? {} : { continue: first.continue }),
        }),
        [2, 9, 5, 1, 8, 4, 0],
      );
      assert.deepEqual(await uids({ namespaces: among }), []);
      assert.deepEqual(await uids({ namespaces: [] }), []);
    });

    const selectors: readonly (readonly [string, readonly LabelRequirement[], readonly number[]])[] = [
      ['=', [{ key: 'parity', operator: 'in', values: ['even'] }], [0, 2, 4, 6, 8, 10]],
      ['!=', [{ key: 'first', operator: 'notIn', values: ['other'] }], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      ['in', [{ key: 'parity', operator: 'in', values: ['even', 'odd', 'none'] }], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      ['notin', [{ key: 'parity', operator: 'notIn', values: ['even', 'none'] }], [1, 3, 5, 7, 9]],
      ['exists', [{ key: 'first', operator: 'exists' }], [0, 1, 2]],
      [
        '!exists',
        [
          { key: 'first', operator: 'notExists' },
          { key: 'parity', operator: 'in', values: ['odd'] },
        ],
        [3, 5, 7, 9],
      ],
      ['another case', [{ key: 'parity', operator: 'in', values: ['EVEN'] }], []],
    ];
    for (const [what, labels, expected] of selectors) {
      it(`selects labels by ${what}`, async () => assert.deepEqual(await sorted({ labels }), expected));
    }

    it('finds what an owner owns, through changes of owners and labels, and has no owner among the labels', async () => {
      const storage = storageFor();
      const place = 'owned';
      const reference = (uid: string, name = 'train') => ({ apiVersion: 'a/v1', kind: 'Pipeline', name, uid });
      const row = (uid: string, version: string, metadata: object) =>
        aModelRow({ uid, name: uid, namespace: place, resourceVersion: version, ...metadata });
      const owned = async (condition: FieldCondition): Promise<readonly string[]> => {
        const { owners } = splitOwners([condition]);
        const { items } = await storage.list(modelKind, { namespace: place, labels: owners });
        for (const { labels } of items) assert.ok(Object.keys(labels).every((key) => key === 'team'));
        return items.map(({ uid }) => uid).sort();
      };
      const byUid = (value: string, operator: '=' | '!=' = '=') =>
        owned({ field: 'metadata.ownerReferences.uid', operator, value });
      const byName = (value: string) => owned({ field: 'metadata.ownerReferences', operator: '=', value });
      await storage.upsert(row('owned-0', '1', { ownerReferences: [reference('p1'), reference('p2', 'other')] }));
      await storage.upsert(row('owned-1', '1', { ownerReferences: [reference('p3')], labels: { team: 'a' } }));
      await storage.upsert(row('owned-2', '1', { labels: { team: 'a' } }));
      assert.deepEqual(await byUid('p1'), ['owned-0']);
      assert.deepEqual(await byUid('p2'), ['owned-0']);
      assert.deepEqual(await byUid('p1', '!='), ['owned-1', 'owned-2']);
      assert.deepEqual(await byName('Pipeline/train'), ['owned-0', 'owned-1']);
      assert.deepEqual(await byName('pipeline/train'), []);
      assert.deepEqual({ ...(await storage.getById(modelKind, 'owned-1'))?.labels }, { team: 'a' });
      await storage.upsert(row('owned-0', '2', { ownerReferences: [reference('p2', 'other')] }));
      await storage.upsert(row('owned-1', '2', { ownerReferences: [reference('p3')], labels: { team: 'b' } }));
      await storage.upsert(row('owned-2', '2', { ownerReferences: [reference('p1')], labels: { team: 'a' } }));
      assert.deepEqual(await byUid('p1'), ['owned-2']);
      assert.deepEqual(await byUid('p3'), ['owned-1']);
      assert.deepEqual(await byName('Pipeline/train'), ['owned-1', 'owned-2']);
    });

    it('keeps what an owner owns when labels of an evicted object are changed', async () => {
      const storage = storageFor();
      const metadata = { uid: 'kept-owned', name: 'kept-owned', namespace: 'owned-evicted', labels: { team: 'a' } };
      const row = aModelRow({ ...metadata, ownerReferences: [{ kind: 'Pipeline', name: 'train', uid: 'p1' }] });
      await storage.requestEviction(row, at);
      await storage.finish({ ...row, resourceVersion: '11' }, at);
      const change = { labels: { team: 'b' }, encode: () => new Uint8Array() };
      await storage.directUpdate(modelKind, { uid: metadata.uid }, change);
      const { owners } = splitOwners([{ field: 'metadata.ownerReferences.uid', operator: '=', value: 'p1' }]);
      const { items } = await storage.list(modelKind, { namespace: metadata.namespace, labels: owners });
      assert.deepEqual(
        items.map(({ uid, labels }) => [uid, { ...labels }]),
        [[metadata.uid, { team: 'b' }]],
      );
    });

    it('selects annotations as it selects labels, whatever their values are', async () => {
      const storage = storageFor();
      const place = 'annotated';
      const notes = ['a, "b"', 'x'.repeat(10_000), 'A', 'a ', undefined];
      for (const [index, note] of notes.entries()) {
        const annotations = note === undefined ? {} : { note };
        await storage.upsert(
          aModelRow({ uid: `noted-${index}`, name: `noted-${index}`, namespace: place, annotations }),
        );
      }
      const found = async (...annotations: readonly LabelRequirement[]): Promise<readonly number[]> => {
        const { items } = await storage.list(modelKind, { namespace: place, annotations });
        const { groups } = await storage.aggregate(modelKind, { namespace: place, annotations });
        assert.equal(groups[0]?.count, items.length);
        return items.map(({ uid }) => Number(uid.slice('noted-'.length))).sort();
      };
      const key = 'note';
      assert.deepEqual(await found({ key, operator: 'in', values: ['a, "b"', 'a'] }), [0]);
      assert.deepEqual(await found({ key, operator: 'in', values: ['x'.repeat(10_000)] }), [1]);
      assert.deepEqual(await found({ key, operator: 'in', values: ['a '] }), [3]);
      assert.deepEqual(await found({ key, operator: 'notIn', values: ['A'] }), [0, 1, 3, 4]);
      assert.deepEqual(await found({ key, operator: 'exists' }), [0, 1, 2, 3]);
      assert.deepEqual(await found({ key, operator: 'notExists' }), [4]);
      const first = await storage.list(modelKind, {
        namespace: place,
        annotations: [{ key, operator: 'exists' }],
        limit: 1,
      });
      const token = first.continue ?? '';
      await assert.rejects(storage.list(modelKind, { namespace: place, continue: token }), {
        code: 'STORAGE_CONTINUE_INVALID',
      });
    });

    const conditions: readonly (readonly [string, Condition, readonly number[]])[] = [
      ['=', { field: 'spec.algorithm', operator: '=', value: 'xgboost' }, [0, 1, 2, 3, 4, 5]],
      ['!=, NULL included', { field: 'spec.owner.name', operator: '!=', value: 'owner-1' }, [0, 2, 3, 5, 6, 8, 9]],
      ['>', { field: 'spec.revisionId', operator: '>', value: 8 }, [9, 10]],
      ['<= on text', { field: 'revision_id', operator: '<=', value: '1' }, [0, 1]],
      ['in', { field: 'metadata.name', operator: 'in', values: ['n1', 'n2', 'nope'] }, [1, 2]],
      [
        'not in, NULL included',
        { field: 'spec.owner.name', operator: 'notIn', values: ['owner-1', 'owner-2'] },
        [0, 3, 6, 9],
      ],
      ['like', { field: 'spec.algorithm', operator: 'like', value: 'Other%' }, [6, 7, 8, 9, 10]],
      [
        'like, of an escaped wildcard',
        { field: 'spec.algorithm', operator: 'like', value: String.raw`Other\_1%` },
        [10],
      ],
      ['like, of an escaped %', { field: 'spec.algorithm', operator: 'like', value: String.raw`Other\%` }, []],
      ['is null', { field: 'spec.owner.name', operator: 'isNull' }, [0, 3, 6, 9]],
      ['is not null', { field: 'spec.owner.name', operator: 'isNotNull' }, [1, 2, 4, 5, 7, 8, 10]],
      ['time', { field: 'metadata.creationTimestamp', operator: '>=', value: '2026-01-04T00:00:00Z' }, [3, 7]],
      ['a day', { field: 'metadata.creationTimestamp', operator: '=', value: '2026-01-04' }, [3, 7]],
      [
        'another day',
        { field: 'metadata.creationTimestamp', operator: '!=', value: '2026-01-04' },
        [0, 1, 2, 4, 5, 6, 8, 9, 10],
      ],
      ['beginning of a day', { field: 'metadata.creationTimestamp', operator: '>=', value: '2026-01-04' }, [3, 7]],
      [
        'a tree',
        {
          any: [
            {
              all: [
                { field: 'revision_id', operator: '<', value: 3 },
                { field: 'owner', operator: 'isNull' },
              ],
            },
            { field: 'revision_id', operator: '=', value: 10 },
          ],
        },
        [0, 10],
      ],
      ['nothing', { any: [] }, []],
    ];
    for (const [what, where, expected] of conditions) {
      it(`finds by ${what}`, async () => assert.deepEqual(await sorted({ where }), expected));
    }

    it('counts every object that matches, not only the page', async () => {
      const page = await storageFor().list(modelKind, {
        namespace,
        limit: 2,
        count: 'yes',
        where: { field: 'spec.algorithm', operator: '=', value: 'xgboost' },
      });
      assert.deepEqual([page.items.length, page.total], [2, 6]);
    });

    it('ends a page before the object that would bring the page beyond its bytes, and continues from that object', async () => {
      const ask = (query: ListQuery) => storageFor().list(modelKind, { namespace, ...query });
      const { items } = await ask({});
      const three = items.slice(0, 3).reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
      assert.equal((await ask({ bytes: three })).items.length, 3);
      assert.equal((await ask({ bytes: three - 1 })).items.length, 2);
      const seen: string[] = [];
      let token: string | undefined;
      do {
        const page = await ask({ bytes: 1, ...(token === undefined ? {} : { continue: token }) });
        assert.equal(page.items.length, 1);
        seen.push(...page.items.map(({ uid }) => uid));
        token = page.continue;
      } while (token !== undefined);
      assert.deepEqual(
        seen,
        items.map(({ uid }) => uid),
      );
    });

    it('has a large object among small ones at its place, and ends before it where its bytes are too many', async () => {
      const storage = storageFor();
      for (const [name, length] of Object.entries({ 'a-small': 10, 'b-large': 20_000, 'c-small': 10 })) {
        const metadata = { uid: name, name, namespace: 'mixed', labels: { name } };
        await storage.upsert(aModelRow(metadata, { algorithm: 'x'.repeat(length) }));
      }
      const query = { namespace: 'mixed', order: { field: 'metadata.name', direction: 'ascending' } } as const;
      const { items } = await storage.list(modelKind, query);
      const bytes = items.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
      assert.deepEqual((await storage.list(modelKind, { ...query, bytes })).items, items);
      const { continue: next = '', items: first } = await storage.list(modelKind, { ...query, bytes: 20_000 });
      const { items: second } = await storage.list(modelKind, { ...query, bytes: 20_000, continue: next });
      assert.deepEqual([first, second], [items.slice(0, 1), items.slice(1, 2)]);
    });

    it('has nothing beside the json where only the json is asked for', async () => {
      const [whole] = (await storageFor().list(modelKind, { namespace, limit: 1 })).items;
      const [only] = (await storageFor().list(modelKind, { namespace, limit: 1, parts: 'json' })).items;
      assert.deepEqual(only, { ...whole, proto: new Uint8Array(), labels: {}, annotations: {} });
    });

    it('refuses a field without an index and names the fields with one', async () => {
      const refused = { code: 'STORAGE_QUERY_UNSUPPORTED' };
      const ask = (query: ListQuery) => storageFor().list(modelKind, query);
      await assert.rejects(
        ask({ where: { field: 'spec.secret', operator: 'isNull' } }),
        /metadata\.name.*spec\.algorithm/,
      );
      await assert.rejects(ask({ order: { field: 'json', direction: 'ascending' } }), refused);
      await assert.rejects(ask({ where: { field: 'revision_id', operator: '=', value: '1 OR 1=1' } }), refused);
      await assert.rejects(ask({ where: { field: 'spec.algorithm', operator: 'like', value: '%boost' } }), refused);
      await assert.rejects(ask({ limit: 0 }), refused);
    });

    it('orders by several fields, each in its direction, and pages through them', async () => {
      const order = [
        { field: 'spec.owner.name', direction: 'descending' },
        { field: 'metadata.creationTimestamp', direction: 'ascending' },
        { field: 'metadata.name', direction: 'descending' },
      ] as const;
      const all = await uids({ order });
      assert.equal(all.length, 11);
      const owner = (index: number): number => (index % 3 === 0 ? -1 : index % 3);
      const expected = [...all].sort(
        (left, right) => owner(right) - owner(left) || (left % 4) - (right % 4) || (`n${left}` < `n${right}` ? 1 : -1),
      );
      assert.deepEqual(all, expected);
      const seen: string[] = [];
      let token: string | undefined;
      do {
        const next = token === undefined ? {} : { continue: token };
        const page = await storageFor().list(modelKind, { namespace, order, limit: 2, ...next });
        seen.push(...page.items.map(({ uid }) => uid));
        token = page.continue;
      } while (token !== undefined);
      assert.deepEqual(
        seen.map((uid) => Number(uid.slice('list-'.length))),
        all,
      );
      const refused = { code: 'STORAGE_QUERY_UNSUPPORTED' };
      const five = Array.from({ length: 5 }, () => order[0]);
      await assert.rejects(storageFor().list(modelKind, { order: five }), refused);
    });

    it('leaves out of the json what the caller does not want, and then the proto', async () => {
      const skip = ['spec.owner', 'status', 'metadata.labels', 'nothing.there'];
      const { items } = await storageFor().list(modelKind, {
        namespace,
        skip,
        labels: [{ key: 'first', operator: 'exists' }],
      });
      for (const { json, proto, uid } of items) {
        const object = JSON.parse(json) as { spec: object; metadata: object };
        assert.deepEqual([Object.keys(object.spec).sort(), 'status' in object], [['algorithm', 'revisionId'], false]);
        assert.ok(!('labels' in object.metadata) && proto.length === 0, uid);
      }
      assert.equal(items.length, 3);
      for (const wrong of ['', 'a..b', '$', 'a"b', 'spec.*']) {
        await assert.rejects(storageFor().list(modelKind, { skip: [wrong] }), { code: 'STORAGE_QUERY_UNSUPPORTED' });
      }
    });

    it('answers named queries, page by page', async () => {
      const ask = (parameters: ParameterValues, page: TemplatePage = {}) =>
        storageFor().queryByTemplateId(modelKind, 'by-algorithm', parameters, { namespace, ...page });
      const all = await ask({ algorithm: 'xgboost' });
      assert.deepEqual(
        all.items.map(({ uid }) => uid),
        ['list-03', 'list-02', 'list-05', 'list-01', 'list-04', 'list-00'],
      );
      const first = await ask({ algorithm: 'xgboost' }, { limit: 4 });
      const second = await ask({ algorithm: 'xgboost' }, { limit: 4, continue: first.continue ?? '' });
      assert.deepEqual(
        [...first.items, ...second.items].map(({ uid }) => uid),
        all.items.map(({ uid }) => uid),
      );
      const owned = await ask({ algorithm: 'xgboost', owner: 'owner-1' });
      assert.deepEqual(
        owned.items.map(({ uid }) => uid),
        ['list-01', 'list-04'],
      );
      assert.deepEqual((await ask({ algorithm: "x' OR '1'='1" })).items, []);
      await assert.rejects(ask({}), { code: 'QUERY_PARAMETERS_INVALID' });
      await assert.rejects(storageFor().queryByTemplateId(modelKind, 'no-such', {}), {
        code: 'QUERY_TEMPLATE_UNKNOWN',
      });
    });

    it('refuses the continue token of another query, and a damaged one', async () => {
      const { continue: token = '' } = await storageFor().list(modelKind, { namespace, limit: 1 });
      const invalid = { code: 'STORAGE_CONTINUE_INVALID' };
      await assert.rejects(storageFor().list(modelKind, { limit: 1, continue: token }), invalid);
      await assert.rejects(storageFor().list(modelKind, { namespace, continue: `x${token}` }), invalid);
    });
  });
}
