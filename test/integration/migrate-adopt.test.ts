// Databases of the original become ours: every form of its tables, every kind of row, and nothing is lost.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import type { KindDefinition } from '../../src/api/kind.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { allKinds, defaultKinds, kindsNamed } from '../../src/kinds/kinds.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import type { StoredObject } from '../../src/storage/metadata-storage.ts';
import { type MysqlOptions, MysqlPool } from '../../src/storage/mysql/pool.ts';
import { ownTables } from '../../src/storage/mysql/schema/own-tables.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import {
  type MigrateOptions,
  type MigrationReport,
  migrate,
  planMigration,
} from '../../src/storage/mysql/tasks/migrate.ts';
import { QueryTemplates } from '../../src/storage/query-templates.ts';
import { unreadable } from '../../src/sync/audit/audit.ts';
import { storageContract } from '../contract/storage-contract.ts';
import { storageListContract } from '../contract/storage-list-contract.ts';
import { migrationOptions } from '../support/migrations.ts';
import { aModel, aModelRow } from '../support/objects.ts';
import { type OriginalVariant, originalVariant, originalVariants } from '../support/original-schema.ts';

const secret = 'SECRET-token-in-the-clear';

/** As the original's marshaller leaves it: without kind and apiVersion. */
function originalJson(uid: string, more: JsonObject = {}, metadata: JsonObject = {}): string {
  const base = { name: `n-${uid}`, namespace: 'original', uid, resourceVersion: '41', generation: 3 };
  return JSON.stringify({ metadata: { ...base, ...metadata }, spec: {}, ...more });
}

type Row = Readonly<Record<string, string | number | Buffer | null>>;

function row(uid: string, more: Row = {}): Row {
  return {
    uid,
    group_ver: 'michelangelo.api/v2',
    namespace: 'original',
    name: `n-${uid}`,
    res_version: 41,
    create_time: '2024-05-06 07:08:09',
    update_time: '2024-05-07 00:00:00',
    delete_time: null,
    proto: null,
    json: originalJson(uid),
    ...more,
  };
}

const protoOf = (kind: string, uid: string): Buffer =>
  Buffer.from(
    encodeObject(kind, {
      ...aModel({ uid, name: `n-${uid}`, namespace: 'original' }),
      kind,
      spec: {},
    }),
  );

const rows: Readonly<Record<string, readonly Row[]>> = {
  Project: [
    row('p-number', { tier: '4', json: originalJson('p-number', { spec: { tier: 4 } }) }),
    row('p-text', { tier: null, json: originalJson('p-text', { spec: { tier: 2 } }) }),
    row('p-null-time', { update_time: null }),
    row('p-deleted', { delete_time: '2024-06-01 10:00:00' }),
    row('p-immutable', {
      json: originalJson('p-immutable', {}, { annotations: { 'michelangelo/Immutable': 'true' } }),
    }),
    row('p-twin-1', { name: 'twin', json: originalJson('p-twin-1', {}, { name: 'twin' }) }),
    row('p-twin-2', {
      name: 'twin',
      create_time: '2024-05-08 00:00:00',
      json: originalJson('p-twin-2', {}, { name: 'twin' }),
    }),
    row('p-proto-only', { json: null, proto: protoOf('Project', 'p-proto-only') }),
    row('p-columns-only', { json: null }),
    row('p-damaged-proto', { json: null, proto: Buffer.from('ffffffffff', 'hex') }),
    row('p-json-null', { json: 'null' }),
    row('p-odd-generation', { json: originalJson('p-odd-generation', {}, { generation: 'three' }) }),
    row('P-UPPER', {}),
  ],
  Model: [
    row('m-evicted', {
      algorithm: 'old',
      json: originalJson('m-evicted', { spec: { algorithm: 'xgboost', revisionId: 7 } }),
    }),
    row('m-deleted', { delete_time: '2024-06-01 10:00:00' }),
  ],
  SparkJob: [
    row('s-secret', {
      json: originalJson(
        's-secret',
        { spec: { driver: { pod: { hdfsDelegationToken: secret } } } },
        { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': secret, kept: 'yes' } },
      ),
      proto: Buffer.from(`old bytes with ${secret}`),
    }),
  ],
};

async function insert(database: BundleDatabase, table: string, values: Row): Promise<void> {
  const entries = Object.entries(values).map(([column, value]) => {
    const literal = value === null ? 'NULL' : Buffer.isBuffer(value) ? `X'${value.toString('hex')}'` : '?';
    return { column, literal, parameters: value === null || Buffer.isBuffer(value) ? [] : [value] };
  });
  await database.query(
    `INSERT INTO \`${table}\` (${entries.map(({ column }) => `\`${column}\``).join(', ')}) ` +
      `VALUES (${entries.map(({ literal }) => literal).join(', ')})`,
    entries.flatMap(({ parameters }) => parameters),
  );
}

async function fill(database: BundleDatabase, variant: OriginalVariant): Promise<void> {
  const { kinds, unknown } = variant;
  for (const kind of [...kinds, ...unknown]) {
    for (const statement of variant.create(kind)) await database.query(statement);
  }
  for (const { table } of unknown) await insert(database, table, row('of-a-newer-kind'));
  for (const kind of kinds) for (const one of rows[kind.kind] ?? []) await insert(database, kind.table, one);
  for (const [key, value] of [
    ['App', 'A'],
    ['app', 'a'],
    ['twice', 'older'],
    ['twice', 'newer'],
    ['twice', 'newest'],
  ]) {
    await insert(database, 'project_labels', { obj_uid: 'p-number', key: key ?? '', value: value ?? '' });
  }
  await insert(database, 'project_labels', { obj_uid: 'p-number', key: 'nothing', value: null });
  await insert(database, 'project_labels', { obj_uid: 'p-columns-only', key: 'l', value: 'v' });
  const [spark] = kindsNamed(['SparkJob'], variant.tableNames);
  const annotations = `${spark?.table ?? ''}_annotations`;
  const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
  await insert(database, annotations, { obj_uid: 's-secret', key: lastApplied, value: secret });
  await insert(database, annotations, { obj_uid: 's-secret', key: 'kept', value: 'yes' });
}

for (const flavour of ['mysql', 'mariadb'] as const) {
  for (const variant of originalVariants) {
    describe(`tables ${variant.name} on ${flavour}`, () => {
      let server: DatabaseServer;
      let database: BundleDatabase;
      let storage: MysqlMetadataStorage;
      let options: MysqlOptions;
      let report: MigrationReport;
      let plan: readonly string[];
      let unknown: readonly unknown[];
      const [project, model, spark] = kindsNamed(['Project', 'Model', 'SparkJob'], variant.tableNames) as [
        KindDefinition,
        KindDefinition,
        KindDefinition,
      ];

      const migrating = (): MigrateOptions => ({
        ...migrationOptions({ ...options, ...database.migrator }),
        tableNames: 'auto',
      });
      const pictureOfUnknown = async (): Promise<readonly unknown[]> => {
        const rows = variant.unknown.map(async ({ table }) => [
          await database.query(`SHOW CREATE TABLE ${table}`),
          await database.query(`SELECT * FROM ${table}`),
        ]);
        return (await Promise.all(rows)).flat();
      };

      before(async () => {
        server = await startDatabase({ flavour });
        database = await createBundleDatabase(server);
        const pool = { maxOpenConns: 10, maxIdleConns: 10, connMaxLifetimeMs: 0 };
        options = { host: server.host, port: server.port, ...database.writer, database: database.name, ...pool };
        await fill(database, variant);
        unknown = await pictureOfUnknown();
        plan = await planMigration(migrating());
        report = await migrate(migrating());
        storage = new MysqlMetadataStorage(options, systemClock, new QueryTemplates(allKinds));
      });
      after(() => server.dispose());
      after(() => storage.close());

      const stored = async (kind: KindDefinition, uid: string): Promise<StoredObject> =>
        (await storage.getById(kind, uid)) ?? assert.fail(`${uid} is lost`);
      const states = async (kind: KindDefinition): Promise<Record<string, string>> => {
        const found: Record<string, string> = {};
        for (const { uid } of rows[kind.kind] ?? []) found[String(uid)] = (await stored(kind, String(uid))).state;
        return found;
      };

      it('keep every row, and its end', async () => {
        const expected = Object.fromEntries((rows['Project'] ?? []).map(({ uid }) => [String(uid), 'live']));
        assert.deepEqual(await states(project), { ...expected, 'p-deleted': 'deleted', 'p-immutable': 'evicting' });
        assert.deepEqual(await states(model), { 'm-evicted': 'evicting', 'm-deleted': 'deleted' });
        assert.equal((await stored(project, 'p-deleted')).deleteTime, '2024-06-01T10:00:00.000000Z');
      });

      it('give every row content that can be read, whatever it was made of', async () => {
        for (const kind of [project, model, spark]) {
          for (const { uid } of rows[kind.kind] ?? []) {
            assert.equal(unreadable(kind, await stored(kind, String(uid))), undefined, String(uid));
          }
        }
        const fromColumns = JSON.parse((await stored(project, 'p-columns-only')).json) as JsonObject;
        assert.deepEqual(fromColumns['metadata'], {
          creationTimestamp: '2024-05-06T07:08:09Z',
          labels: { l: 'v' },
          name: 'n-p-columns-only',
          namespace: 'original',
          resourceVersion: '41',
          uid: 'p-columns-only',
        });
      });

      it('fill in the columns from the object', async () => {
        const tiers = await database.query(
          "SELECT uid, tier FROM project WHERE uid IN ('p-number', 'p-text') ORDER BY uid",
        );
        assert.deepEqual(
          tiers.map(({ tier }) => Number(tier)),
          [4, 2],
        );
        const [found] = await database.query(
          "SELECT algorithm, revision_id, generation FROM model WHERE uid = 'm-evicted'",
        );
        assert.deepEqual(
          { ...found, generation: Number(found?.['generation']) },
          { algorithm: 'xgboost', revision_id: 7, generation: 3 },
        );
      });

      it('keep labels that differ in case only, and move repeated ones aside', async () => {
        const { labels } = await stored(project, 'p-number');
        assert.deepEqual({ ...labels }, { App: 'A', app: 'a', nothing: '', twice: 'newest' });
        const moved = await database.query('SELECT value FROM ingester_duplicates ORDER BY ordinal');
        assert.deepEqual(
          moved.map(({ value }) => value),
          ['newer', 'older'],
        );
        assert.ok(report.warnings.some((warning) => warning.includes('project_labels: 2 rows repeated')));
        assert.ok(report.warnings.some((warning) => /project: 1 names .* original\/twin \(2\)/.test(warning)));
      });

      it('find the newest of two rows of one name', async () => {
        assert.equal((await storage.getByName(project, 'original', 'twin'))?.uid, 'p-twin-2');
      });

      it('have no secret in the clear any more', async () => {
        const object = await stored(spark, 's-secret');
        assert.deepEqual({ ...object.annotations }, { kept: 'yes' });
        const everything = object.json + Buffer.from(object.proto).toString('latin1');
        assert.doesNotMatch(everything, new RegExp(secret));
        assert.match(everything, /redacted/);
      });

      it('tell what the original archived, until a newer state comes', async () => {
        const adopted = async (kind: KindDefinition) =>
          (await storage.identities(kind, { states: ['live', 'evicting'], limit: 100 }))
            .filter((one) => one.adopted === true)
            .map(({ uid }) => uid);
        assert.deepEqual([await adopted(project), await adopted(model)], [['p-immutable'], ['m-evicted']]);
        const newer = { ...aModelRow({ uid: 'm-evicted', name: 'n-m-evicted', resourceVersion: '42' }), kind: model };
        assert.equal(await storage.requestEviction(newer, new Date()), 'updated');
        assert.deepEqual(await adopted(model), []);
      });

      it('were announced by a dry run that changed nothing, and are up to date now', async () => {
        assert.ok(plan.some((sql) => sql.startsWith('ALTER TABLE `project`')));
        assert.deepEqual(await planMigration(migrating()), []);
        assert.deepEqual((await migrate(migrating())).applied, []);
        assert.equal(report.adopted.length, variant.kinds.length * 3);
      });

      it('have the names by which they were found, which are noted for every other program', async () => {
        const noted = await database.query('SELECT table_names FROM ingester_gate');
        assert.deepEqual(
          noted.map((gate) => gate['table_names']),
          [variant.tableNames],
        );
        const tables = (await database.query('SHOW TABLES')).flatMap((table) => Object.values(table));
        const other = variant.tableNames === 'lowercase' ? 'pipeline_run' : 'pipelinerun';
        assert.equal(tables.includes(other), false);
      });

      it('leave those of kinds that this release does not know as they are', async () => {
        assert.equal(unknown.length, variant.unknown.length * 2);
        assert.deepEqual(await pictureOfUnknown(), unknown);
      });

      storageContract(`adopted ${variant.name} on ${flavour}`, () => storage);
      storageListContract(`adopted ${variant.name} on ${flavour}`, () => storage);
    });
  }

  describe(`tables of a kind that is not ingested on ${flavour}`, () => {
    let server: DatabaseServer;
    before(async () => (server = await startDatabase({ flavour })));
    after(() => server.dispose());

    it("stay the original's, hold nothing up, and are adopted when the kind is switched on", async () => {
      const database = await createBundleDatabase(server);
      await fill(database, originalVariant('as in the chart'));
      await insert(database, 'cached_output', row('c-1'));
      const { host, port } = server;
      const pool = { maxOpenConns: 2, maxIdleConns: 2, connMaxLifetimeMs: 0 };
      const options = { host, port, ...database.migrator, database: database.name, ...pool };
      const run = (kinds: readonly KindDefinition[]): Promise<MigrationReport> =>
        migrate({ ...migrationOptions(options, kinds), tableNames: 'auto' });
      const picture = (): Promise<unknown> => database.query('SHOW CREATE TABLE cached_output');
      const owned = async (): Promise<readonly string[]> => {
        const mysql = new MysqlPool(options, systemClock);
        try {
          return await mysql.read((session) => ownTables(session, 'snake_case'));
        } finally {
          await mysql.close();
        }
      };
      const theirs = await picture();
      assert.equal((await run(defaultKinds)).adopted.length, 39);
      assert.deepEqual((await run(defaultKinds)).adopted, []);
      assert.deepEqual(await picture(), theirs);
      assert.deepEqual([(await owned()).includes('model'), (await owned()).includes('cached_output')], [true, false]);
      const { adopted } = await run(allKinds);
      assert.deepEqual(
        adopted.map(({ table, rows }) => [table, rows]),
        [
          ['cached_output', 1],
          ['cached_output_labels', 0],
          ['cached_output_annotations', 0],
        ],
      );
      assert.ok((await owned()).includes('cached_output_labels'));
      await database.drop();
    });
  });

  describe(`what cannot be adopted on ${flavour}`, () => {
    let server: DatabaseServer;
    before(async () => (server = await startDatabase({ flavour })));
    after(() => server.dispose());

    const refusal = async (statements: readonly string[]): Promise<string> => {
      const database = await createBundleDatabase(server);
      await fill(database, originalVariant('as specified'));
      for (const statement of statements) await database.query(statement);
      const tables = async (): Promise<unknown> => database.query('SHOW CREATE TABLE project');
      const as = await tables();
      const { host, port } = server;
      const pool = { maxOpenConns: 2, maxIdleConns: 2, connMaxLifetimeMs: 0 };
      const run = migrate(migrationOptions({ host, port, ...database.migrator, database: database.name, ...pool }));
      const message = await run.then(
        () => '',
        (error: unknown) => {
          assert.equal((error as { code: string }).code, 'ADOPTION_REFUSED');
          return (error as Error).message;
        },
      );
      if (message !== '') assert.deepEqual(await tables(), as);
      await database.drop();
      return message;
    };

    it('is refused with all problems at once, before anything is changed', async () => {
      const message = await refusal([
        'ALTER TABLE project ADD UNIQUE KEY only_once (uid, namespace)',
        'ALTER TABLE model DROP COLUMN algorithm, ADD COLUMN algorithm DOUBLE',
        'CREATE TABLE pipeline_run (uid VARCHAR(64) PRIMARY KEY)',
        "INSERT INTO pipeline_run VALUES ('forgotten')",
      ]);
      assert.match(message, /pipeline_run: it has rows. Set metadataStorage.tableNames to snake_case/);
      assert.match(message, /project: drop the unique key only_once/);
      assert.match(message, /model: column algorithm is DOUBLE and cannot become VARCHAR\(255\)/i);
    });

    it('is not a column of another program, which stays and no longer demands a value', async () => {
      assert.equal(
        await refusal([
          "ALTER TABLE project ADD COLUMN team VARCHAR(40) NOT NULL DEFAULT 'x'",
          'ALTER TABLE project ALTER COLUMN team DROP DEFAULT',
        ]),
        '',
      );
    });
  });
}
