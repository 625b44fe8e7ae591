// Queries on the real servers: the same answers as the in-memory storage for whatever is asked, and a plan that walks a
// key for everything that is asked often.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { type AggregateQuery, aggregatePlan } from '../../src/storage/aggregate.ts';
import type { Condition, LabelRequirement, ListQuery, Order } from '../../src/storage/list-query.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import { MysqlPool } from '../../src/storage/mysql/pool.ts';
import { aggregateStatement } from '../../src/storage/mysql/read/aggregate.ts';
import { pageStatement } from '../../src/storage/mysql/read/list.ts';
import { type ListPlan, planList } from '../../src/storage/mysql/read/list-plan.ts';
import { splitOwners } from '../../src/storage/owners.ts';
import { encodeContinue } from '../../src/storage/page-limit.ts';
import { bulkLabels, bulkLoad } from '../bench/storage-bulk-load.ts';
import { useDatabase } from '../support/databases.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { aModelRow, kindNamed, modelKind } from '../support/objects.ts';

const texts = ['', 'a', 'A', 'b_', 'ä', "'; --"] as const;
const text = fc.constantFrom(...texts);
const labelKey = fc.constantFrom('team', 'Team', 'tier');
const labelValue = fc.constantFrom('a', 'A', 'b', '');
const label: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key: labelKey, operator: fc.constantFrom('exists' as const, 'notExists' as const) }),
  fc.record({
    key: labelKey,
    operator: fc.constantFrom('in' as const, 'notIn' as const),
    values: fc.array(labelValue, { maxLength: 3 }),
  }),
);
const textField = fc.constantFrom('spec.algorithm', 'owner', 'metadata.name');
const kindOfModel = fc.constantFrom('', 'MODEL_KIND_CUSTOM', 'custom', 'MODEL_KIND_OF_TOMORROW');
const time = fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00.000001Z', '2026-01-03T00:00:00Z');
const compare = fc.constantFrom('=', '!=', '>', '>=', '<', '<=');
const leaf: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ field: textField, operator: fc.constantFrom('isNull', 'isNotNull') }),
  fc.record({ field: textField, operator: fc.constantFrom('in', 'notIn'), values: fc.array(text, { maxLength: 3 }) }),
  fc.record({ field: textField, operator: compare, value: text }),
  fc.record({ field: fc.constant('model_kind'), operator: compare, value: kindOfModel }),
  fc.record({ field: fc.constant('spec.revisionId'), operator: compare, value: fc.integer({ min: -2, max: 4 }) }),
  fc.record({ field: fc.constant('metadata.creationTimestamp'), operator: compare, value: time }),
);
const { tree } = fc.letrec<{ tree: Condition }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.record({ all: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ any: fc.array(tie('tree'), { maxLength: 3 }) }),
  ),
}));
const order: fc.Arbitrary<Order> = fc.record({
  field: fc.constantFrom('metadata.creationTimestamp', 'metadata.name', 'spec.algorithm', 'spec.revisionId', 'owner'),
  direction: fc.constantFrom('ascending' as const, 'descending' as const),
});
const query: fc.Arbitrary<ListQuery> = fc.record(
  {
    namespace: fc.constantFrom('n1', 'n2', 'none'),
    labels: fc.array(label, { maxLength: 3 }),
    where: tree,
    order: fc.array(order, { maxLength: 3 }),
    limit: fc.integer({ min: 1, max: 12 }),
    deleted: fc.constantFrom('present' as const, 'included' as const),
  },
  { requiredKeys: ['limit'] },
);

async function fill(storage: MetadataStorage): Promise<void> {
  for (let index = 0; index < 40; index += 1) {
    const labels: Record<string, string> = {};
    if (index % 2 === 0) labels['team'] = index % 4 === 0 ? 'a' : 'A';
    if (index % 3 === 0) labels['Team'] = 'b';
    if (index % 5 === 0) labels['tier'] = '';
    const uid = `query-${String(index).padStart(2, '0')}`;
    const created = `2026-01-0${(index % 3) + 1}T00:00:00${index % 7 === 0 ? '.000001' : ''}Z`;
    const metadata = { uid, name: `${texts[index % 6]}${index}`, namespace: `n${(index % 2) + 1}`, labels };
    const spec = {
      algorithm: texts[index % texts.length] ?? '',
      revisionId: (index % 5) - 1,
      ...(index % 4 === 0 ? {} : { owner: { name: texts[(index * 5) % texts.length] ?? '' } }),
    };
    const row = aModelRow({ ...metadata, creationTimestamp: created }, spec);
    await (index % 9 === 8 ? storage.finish(row, new Date('2026-05-06T07:08:09Z')) : storage.upsert(row));
  }
}

async function walk(storage: MetadataStorage, asked: ListQuery): Promise<readonly string[]> {
  const seen: string[] = [];
  let token: string | undefined;
  do {
    const page = await storage.list(modelKind, { ...asked, ...(token === undefined ? {} : { continue: token }) });
    seen.push(...page.items.map(({ uid }) => uid));
    token = page.continue;
  } while (token !== undefined);
  return seen;
}

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`queries on ${flavour}`, () => {
    const database = useDatabase(flavour);
    const memory = new MemoryStorage();
    before(async () => {
      await fill(memory);
      await fill(database().storage);
    });

    it('find what an owner owns in rows that were written before, after a back-fill', async () => {
      const { storage, database: server } = database();
      const ownerReferences = [{ apiVersion: 'a/v1', kind: 'Pipeline', name: 'train', uid: 'p1' }];
      const metadata = { uid: 'owned-before', name: 'owned-before', namespace: 'before', ownerReferences };
      await storage.upsert(aModelRow(metadata));
      await server.query("DELETE FROM model_labels WHERE obj_uid = 'owned-before'");
      await server.query("UPDATE model SET labels_hash = NULL WHERE uid = 'owned-before'");
      const { owners } = splitOwners([{ field: 'metadata.ownerReferences.uid', operator: '=', value: 'p1' }]);
      const found = async (): Promise<number> =>
        (await storage.list(modelKind, { namespace: 'before', labels: owners })).items.length;
      assert.equal(await found(), 0);
      await storage.backfill(modelKind, { pauseMs: 0 });
      assert.equal(await found(), 1);
      await server.query("DELETE FROM model WHERE uid = 'owned-before'");
      await server.query("DELETE FROM model_labels WHERE obj_uid = 'owned-before'");
    });

    it('find an object by two labels where the original wrote one of them, which has no creation time then', async () => {
      const labels = { team: 'a', tier: 'b' };
      const metadata = { uid: 'undated', name: 'undated', namespace: 'undated', labels };
      await database().storage.upsert(aModelRow(metadata));
      const both = Object.entries(labels).map(
        ([key, value]): LabelRequirement => ({ key, operator: 'in', values: [value] }),
      );
      const server = database().database;
      for (const key of Object.keys(labels)) {
        await server.query(
          "UPDATE model_labels SET obj_create_time = DEFAULT WHERE obj_uid = 'undated' AND `key` = ?",
          [key],
        );
        const { items } = await database().storage.list(modelKind, { namespace: 'undated', labels: both });
        assert.equal(items.length, 1, `without the time of ${key}`);
      }
      await server.query("DELETE FROM model WHERE uid = 'undated'");
      await server.query("DELETE FROM model_labels WHERE obj_uid = 'undated'");
    });

    it('find an object by more labels than the server joins tables', async () => {
      const labels = Object.fromEntries(Array.from({ length: 62 }, (_, index) => [`label-${index}`, 'yes']));
      await database().storage.upsert(aModelRow({ uid: 'labelled', name: 'labelled', namespace: 'labelled', labels }));
      const all = Object.keys(labels).map((key): LabelRequirement => ({ key, operator: 'in', values: ['yes'] }));
      const { items } = await database().storage.list(modelKind, { namespace: 'labelled', labels: all });
      assert.equal(items.length, 1);
      await database().database.query("DELETE FROM model WHERE uid = 'labelled'");
      await database().database.query("DELETE FROM model_labels WHERE obj_uid = 'labelled'");
    });

    it('are answered as in memory, page by page', async () => {
      await fc.assert(
        fc.asyncProperty(query, async (asked) => {
          const expected = await walk(memory, asked);
          assert.deepEqual(await walk(database().storage, asked), expected);
          const counted = await database().storage.list(modelKind, { ...asked, count: 'yes' });
          assert.equal(counted.total, expected.length);
        }),
        { numRuns: 80 },
      );
    });
  });

  describe(`plans on ${flavour}`, () => {
    const database = useDatabase(flavour);
    const kind = kindNamed('PipelineRun');
    const rare: LabelRequirement = { key: bulkLabels[0].key, operator: 'in', values: ['v1'] };
    const frequent: LabelRequirement = { key: bulkLabels[1].key, operator: 'in', values: ['v1'] };
    const [owned = rare] = splitOwners([{ field: 'metadata.ownerReferences.uid', operator: '=', value: 'u' }]).owners;
    const noted: LabelRequirement = { key: 'note', operator: 'in', values: ['a text'] };
    const along: ListPlan = { begin: 'order' };
    const byLabel = (label: LabelRequirement): ListPlan => ({ begin: 'label', label, sorted: 'by-key' });
    const deepIn = (asked: ListQuery): ListQuery => ({
      ...asked,
      continue: encodeContinue(asked, { values: ['2026-01-01 02:00:00.000000'], uid: '8' }),
    });
    before(() => bulkLoad(database().database, kind, 20_000));

    const explain = async (sql: string, parameters: readonly unknown[]): Promise<readonly string[]> => {
      const rows = await database().database.query(
        `EXPLAIN FORMAT=TRADITIONAL ${sql}`,
        parameters as (string | number)[],
      );
      return rows
        .filter((row) => row['type'] === 'ALL' || /filesort|temporary/.test(String(row['Extra'])))
        .map((row) => JSON.stringify(row));
    };

    const pages: readonly (readonly [string, ListQuery, ListPlan])[] = [
      ['the first page', {}, along],
      ['the first page of a namespace', { namespace: 'project-7' }, along],
      ['a deep page', deepIn({}), along],
      ['a deep page of a namespace', deepIn({ namespace: 'project-7' }), along],
      ['a rare label', { labels: [rare] }, byLabel(rare)],
      ['a frequent label', { labels: [frequent] }, byLabel(frequent)],
      ['a frequent label, deep', deepIn({ labels: [frequent] }), byLabel(frequent)],
      ['two labels', { labels: [rare, frequent] }, byLabel(rare)],
      ['a label of a namespace', { namespace: 'project-7', labels: [frequent] }, byLabel(frequent)],
      ['a frequent label of a small namespace', { namespace: 'project-7', labels: [frequent] }, along],
      ['what an owner owns', { labels: [owned] }, byLabel(owned)],
      ['what an owner owns, deep', deepIn({ labels: [owned] }), byLabel(owned)],
      ['an annotation', { annotations: [noted] }, along],
      ['an annotation of a namespace', deepIn({ namespace: 'project-7', annotations: [noted] }), along],
      [
        'a label that is not there, of a small namespace',
        { namespace: 'project-7', labels: [{ key: 'x', operator: 'notExists' }] },
        along,
      ],
    ];
    for (const [name, asked, plan] of pages) {
      it(`walk a key for ${name}: no full scan, no sort`, async () => {
        const { sql, parameters } = pageStatement(kind, asked, plan);
        assert.deepEqual(await explain(sql, [...parameters, 101]), []);
      });
    }

    it('begin a frequent label of a namespace where fewer objects are: in the namespace, or at the label', async () => {
      const { table } = kind;
      const key = 'example.com/half';
      // One label of 2,000 objects, in a namespace of 5,000 and in one of a few hundred.
      const statements = [
        `UPDATE ${table} SET namespace = 'huge' ORDER BY uid LIMIT 5000`,
        `INSERT INTO ${table}_labels (obj_uid, \`key\`, value, obj_create_time) ` +
          `SELECT uid, '${key}', 'yes', create_time FROM ${table} WHERE namespace = 'huge' ORDER BY uid LIMIT 2000`,
      ];
      for (const statement of statements) await database().database.query(statement);
      const label: LabelRequirement = { key, operator: 'in', values: ['yes'] };
      const pool = new MysqlPool(database().options, systemClock);
      const planOf = (namespace: string): Promise<ListPlan> =>
        pool.read((session) => planList(session, kind, { namespace, labels: [label] }));
      // Of all objects one in four, and so more than of the label above.
      const often: LabelRequirement = { key: 'example.com/often', operator: 'in', values: ['yes'] };
      await database().database.query(
        `INSERT INTO ${table}_labels (obj_uid, \`key\`, value, obj_create_time) ` +
          `SELECT uid, '${often.key}', 'yes', create_time FROM ${table} ORDER BY uid LIMIT 5000`,
      );
      for (const labels of [
        [often, label],
        [label, often],
      ]) {
        const plan = await pool.read((session) => planList(session, kind, { labels }));
        assert.deepEqual(plan, { ...byLabel(label), dated: [often] }, 'the rarer of two frequent ones');
      }
      assert.deepEqual(await planOf('huge'), byLabel(label));
      assert.deepEqual(await planOf('project-7'), { ...along, dated: [label] });
      await pool.close();
    });

    it('ask objects of a namespace for a label by its key, in which they stand in their order', async () => {
      const asked: ListQuery = { namespace: 'project-7', labels: [frequent] };
      const { sql, parameters } = pageStatement(kind, asked, { ...along, dated: [frequent] });
      const rows = await database().database.query(`EXPLAIN FORMAT=TRADITIONAL ${sql}`, [...parameters, 101] as (
        | string
        | number
      )[]);
      const ofLabel = rows.find((row) => row['table'] === 'd0');
      assert.equal(ofLabel?.['key'], `${kind.table}_labels_key_value`);
      assert.match(String(ofLabel['ref']), /const,const,.*create_time,.*uid/);
      assert.match(String(ofLabel['Extra']), /Using index/);
      assert.deepEqual(await explain(sql, [...parameters, 101]), []);
    });

    it('of an approximate count lead to a part of the objects, side by side, and come near the exact one', async () => {
      const asked: AggregateQuery = { deleted: 'included', groupBy: ['metadata.namespace'] };
      const plan = aggregatePlan(kind, { deleted: 'included' });
      const { sql, parameters } = aggregateStatement(kind, { deleted: 'included' }, plan, {
        walk: { oneIn: 64 },
        restored: 'none',
      });
      const rows = await database().database.query(`EXPLAIN FORMAT=TRADITIONAL ${sql}`, [...parameters, 1] as (
        | string
        | number
      )[]);
      const [walked] = rows.filter((row) => row['table'] === 'm');
      assert.deepEqual([walked?.['type'], walked?.['key']], ['range', 'PRIMARY']);
      const of = async (approximate: 'yes' | 'no') => {
        const { groups, oneIn } = await database().storage.aggregate(kind, { ...asked, approximate });
        return { groups: groups.length, oneIn, count: groups.reduce((sum, { count }) => sum + count, 0) };
      };
      const [exact, near] = [await of('no'), await of('yes')];
      assert.deepEqual([exact.oneIn, exact.count, near.groups], [1, 20_000, exact.groups]);
      assert.ok(
        near.oneIn > 1 && near.count !== exact.count && Math.abs(near.count - exact.count) < 1500,
        `${near.count}`,
      );
      const narrow = await database().storage.aggregate(kind, { namespace: 'project-9', approximate: 'yes' });
      assert.equal(narrow.oneIn, 1);
    });

    it('refuse a median of more than 100,000 objects, shown in few groups or many, and answer one of fewer', async () => {
      const many = kindNamed('Revision');
      await bulkLoad(database().database, many, 150_000);
      const figures = [{ figure: 'p50', field: 'metadata.creationTimestamp' }] as const;
      const ask = (query: AggregateQuery) => database().storage.aggregate(many, { ...query, figures });
      for (const query of [{}, { groupBy: ['metadata.namespace'], limit: 1 }]) {
        await assert.rejects(ask(query), /p50 of more than 100000 objects; ask for fewer/);
      }
      // Each fiftieth from the seventh second on: the middle one is the 1,500th of them.
      const middle = new Date(Date.UTC(2026, 0, 1, 0, 0, 7 + 50 * 1499)).toISOString().replace('000Z', '000000Z');
      const { groups } = await ask({ namespace: 'project-7' });
      assert.deepEqual(groups, [{ key: [], count: 3000, figures: [middle] }]);
    });

    it('walk a key for single objects', async () => {
      const select = `SELECT json FROM \`${kind.table}\` WHERE`;
      assert.deepEqual(await explain(`${select} uid = ?`, ['x']), []);
      assert.deepEqual(await explain(`${select} namespace = ? AND name = ?`, ['x', 'y']), []);
    });
  });
}
