// A migration that is killed at any statement, run again, ends in the schema of one that was left alone.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import type { KindDefinition } from '../../src/api/kind.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { TableNames } from '../../src/kinds/kind-names.ts';
import { kindsUnder } from '../../src/kinds/kinds.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { type Migration, migrationsFor, parseMigration } from '../../src/storage/mysql/schema/migration-files.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { type MigrateOptions, migrate } from '../../src/storage/mysql/tasks/migrate.ts';
import { migrationOptions, tableIn, tablesOf } from '../support/migrations.ts';
import { startMysqlProxy, type Verdict } from '../support/mysql-proxy.ts';
import { aModelRow, kindNamed } from '../support/objects.ts';
import { originalVariants } from '../support/original-schema.ts';
import { databaseEnv, type RunningTask, startTask, type TaskRan } from '../support/run-task.ts';
import { schemaPicture } from '../support/schema-picture.ts';

const CHANGES = /^(?:CREATE|ALTER|DROP|RENAME|INSERT|UPDATE|DELETE|COMMIT)\b/;

/** Statements that change each other's ground, so that none of them can be run twice. */
const brittle = [
  parseMigration(
    '0001-things',
    `-- minReader: 1
-- minWriter: 1
-- gate: open
CREATE TABLE \`things\` (
  \`id\` INT NOT NULL,
  \`name\` VARCHAR(20),
  PRIMARY KEY (\`id\`)
) ENGINE=InnoDB;
INSERT INTO \`things\` VALUES (1, 'one'), (2, 'two');
ALTER TABLE \`things\`
  ADD COLUMN \`size\` INT,
  ADD KEY \`things_size\` (\`size\`);
`,
  ),
  parseMigration(
    '0002-narrower',
    `-- minReader: 1
-- minWriter: 2
-- gate: closed
ALTER TABLE \`things\` RENAME COLUMN \`name\` TO \`label\`;
ALTER TABLE \`things\` DROP KEY \`things_size\`;
RENAME TABLE \`things\` TO \`articles\`;
CREATE TABLE \`notes\` (\`id\` INT NOT NULL PRIMARY KEY) ENGINE=InnoDB;
DROP TABLE \`notes\`;
`,
  ),
];

/** Of one shipped kind with the most kinds of columns, and of the first and the last one of the file. */
const some = ['Project', 'PipelineRun', 'Deployment'].map(kindNamed);

/**
 * The shipped migrations with the tables of these kinds only: the time grows with the square of the tables. Those of all kinds
 * are made by the same statements (test/unit/storage/migration-files.test.ts).
 */
function shippedFor(kinds: readonly KindDefinition[], tableNames: TableNames = 'lowercase'): readonly Migration[] {
  const left = new Set(kinds.map(({ kind }) => kind));
  const others = kindsUnder(tableNames).filter(({ kind }) => !left.has(kind));
  const tables = new Set(others.flatMap(tablesOf));
  return migrationsFor([], tableNames).map((migration) => ({
    ...migration,
    statements: migration.statements.filter((sql) => !tables.has(tableIn(sql))),
  }));
}

interface Kills {
  readonly runs: number;
  readonly before: ReadonlySet<string>;
  readonly after: ReadonlySet<string>;
}

/**
 * Runs the migration again and again. Each run is cut at the first statement that changes something and was not cut yet:
 * first before it arrives, in the next run before its answer does.
 */
async function killEverywhere(server: DatabaseServer, options: MigrateOptions, only: RegExp): Promise<Kills> {
  const cut = { before: new Set<string>(), after: new Set<string>() };
  for (let runs = 1; ; runs += 1) {
    let last = '';
    const judge = (sql: string): Verdict => {
      if (!CHANGES.test(sql) || !(only.test(sql) || sql === 'COMMIT')) return 'pass';
      // What a COMMIT commits is what makes it another one.
      last = sql === 'COMMIT' ? `COMMIT after ${last}` : sql;
      const moment = (['before', 'after'] as const).find((one) => !cut[one].has(last));
      if (moment === undefined) return 'pass';
      cut[moment].add(last);
      return `cut-${moment}`;
    };
    const proxy = await startMysqlProxy(server, judge);
    const access = { ...options.access, host: proxy.host, port: proxy.port };
    // One attempt, so that its statements are the same in every run.
    const error = await migrate({ ...options, access, attempt: 'killed' }).then(
      () => undefined,
      (reason: unknown) => reason as { code: string },
    );
    await proxy.close();
    if (error === undefined) return { runs, ...cut };
    assert.equal(error.code, 'STORAGE_UNAVAILABLE', `run ${runs}`);
    assert.ok(runs < 1000, `no end in sight at ${last}`);
  }
}

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`a killed migration on ${flavour}`, () => {
    let server: DatabaseServer;
    before(async () => (server = await startDatabase({ flavour })));
    after(() => server.dispose());

    const optionsOf = (database: BundleDatabase): MysqlOptions => ({
      host: server.host,
      port: server.port,
      ...database.migrator,
      database: database.name,
      maxOpenConns: 3,
      maxIdleConns: 3,
      connMaxLifetimeMs: 0,
    });

    const compare = async (
      prepare: (database: BundleDatabase) => Promise<void>,
      more: Partial<MigrateOptions>,
      only = /./,
    ) => {
      const [calm, interrupted] = [await createBundleDatabase(server), await createBundleDatabase(server)];
      await prepare(calm);
      await prepare(interrupted);
      const report = await migrate({ ...migrationOptions(optionsOf(calm)), ...more });
      const kills = await killEverywhere(server, { ...migrationOptions(optionsOf(interrupted)), ...more }, only);
      assert.deepEqual(await schemaPicture(interrupted), await schemaPicture(calm));
      await calm.drop();
      return { report, kills, interrupted };
    };

    it('ends like a migration that was never killed, for every statement of every file', async () => {
      const migrations = shippedFor(some);
      const { kills, interrupted } = await compare(() => Promise.resolve(), { migrations });
      const created = migrations
        .flatMap(({ statements }) => statements)
        .filter((sql) => sql.startsWith('CREATE TABLE'));
      assert.ok(created.length > some.flatMap(tablesOf).length, 'tables of kinds, and others');
      assert.deepEqual(
        created.filter((sql) => !kills.after.has(sql)),
        [],
      );
      assert.deepEqual(
        [...kills.after].filter((sql) => !kills.before.has(sql)),
        [],
      );
      await interrupted.drop();
    });

    it('does not repeat statements that cannot be repeated, and opens the gate in the end', async () => {
      const { kills, interrupted } = await compare(() => Promise.resolve(), { migrations: brittle });
      assert.ok(kills.after.size >= 12, `${kills.after.size} statements`);
      assert.deepEqual(await interrupted.query('SELECT id, label, size FROM articles ORDER BY id'), [
        { id: 1, label: 'one', size: null },
        { id: 2, label: 'two', size: null },
      ]);
      const [gate] = await interrupted.query('SELECT closed_by, schema_version, min_writer FROM ingester_gate');
      assert.deepEqual({ ...gate }, { closed_by: null, schema_version: 2, min_writer: 2 });
      await interrupted.drop();
    });

    it('keeps writers out while it is half done, and says who keeps them out', async () => {
      const database = await createBundleDatabase(server);
      const options = optionsOf(database);
      await migrate(migrationOptions(options));
      const storage = new MysqlMetadataStorage(options, systemClock);
      assert.equal(await storage.upsert(aModelRow({ uid: 'before' })), 'inserted');
      const closed = parseMigration('0002-closed', '-- minReader: 1\n-- minWriter: 1\n-- gate: closed\nDO 1;\nDO 2;\n');
      const proxy = await startMysqlProxy(server, (sql) => (sql === 'DO 2' ? 'cut-before' : 'pass'));
      const run = (access: MysqlOptions) => migrate({ ...migrationOptions(access), migrations: [closed] });
      await assert.rejects(run({ ...options, host: proxy.host, port: proxy.port }), { code: 'STORAGE_UNAVAILABLE' });
      await proxy.close();
      await assert.rejects(storage.upsert(aModelRow({ uid: 'during' })), /closed by ingester task migrate/);
      assert.deepEqual((await run(options)).applied, ['0002-closed']);
      assert.equal(await storage.upsert(aModelRow({ uid: 'during' })), 'inserted');
      await storage.close();
      await database.drop();
    });

    it('reports a statement that fails every time, instead of taking it for done', async () => {
      const database = await createBundleDatabase(server);
      const options = { ...migrationOptions(optionsOf(database)) };
      const wrong = (text: string) =>
        migrate({
          ...options,
          migrations: [parseMigration('0001-wrong', `-- minReader: 1\n-- minWriter: 1\n${text}`)],
        });
      const sql =
        'CREATE TABLE `twice` (`id` INT NOT NULL PRIMARY KEY);\nCREATE TABLE `twice` (`id` INT NOT NULL PRIMARY KEY);\n';
      for (const _attempt of [1, 2, 3]) await assert.rejects(wrong(sql), /ER_TABLE_EXISTS_ERROR/);
      await database.drop();
    });

    for (const variant of originalVariants) {
      it(`adopts tables ${variant.name} wherever it is killed`, async () => {
        const kind = variant.kinds.find((one) => one.kind === 'PipelineRun');
        assert.ok(kind !== undefined);
        const prepare = async (database: BundleDatabase): Promise<void> => {
          for (const statement of variant.create(kind)) await database.query(statement);
          for (const uid of ['a', 'b', 'c']) {
            await database.query(
              `INSERT INTO ${kind.table} (uid, group_ver, namespace, name, res_version, create_time, json) VALUES ` +
                `('${uid}', 'michelangelo.api/v2', 'n', '${uid}', 7, '2025-01-02 03:04:05', '{"spec": {}}')`,
            );
            const pair = "('" + uid + "', 'k', '1'), ('" + uid + "', 'k', '2'), ('" + uid + "', 'K', '3')";
            await database.query(`INSERT INTO ${kind.table}_labels (obj_uid, \`key\`, value) VALUES ${pair}`);
          }
        };
        const { kills, interrupted } = await compare(
          prepare,
          { tableNames: 'auto', migrations: shippedFor([kind], variant.tableNames) },
          new RegExp(`\`${kind.table}|adopt|ingester_duplicates`),
        );
        assert.ok([...kills.after].some((sql) => sql.startsWith(`ALTER TABLE \`${kind.table}\``)));
        const rows = await interrupted.query(`SELECT uid, row_state FROM ${kind.table} ORDER BY uid`);
        assert.deepEqual(
          rows.map(({ uid, row_state: state }) => [uid, state]),
          [
            ['a', 0],
            ['b', 0],
            ['c', 0],
          ],
        );
        const labels = await interrupted.query(
          `SELECT obj_uid, \`key\`, value FROM ${kind.table}_labels ORDER BY 1, 2`,
        );
        assert.deepEqual(labels.length, 6);
        const moved = await interrupted.query('SELECT obj_uid, value FROM ingester_duplicates ORDER BY 1');
        assert.deepEqual(
          moved.map((row) => ({ ...row })),
          ['a', 'b', 'c'].map((uid) => ({ obj_uid: uid, value: '1' })),
        );
        await interrupted.drop();
      });
    }
  });
}

describe('a migration whose process is killed', () => {
  let server: DatabaseServer;
  before(async () => (server = await startDatabase()));
  after(() => server.dispose());

  /** Runs `ingester task migrate` and kills it at its nth statement that changes something; undefined leaves it alone. */
  async function run(database: BundleDatabase, nth: number | undefined, moment: 'before' | 'during'): Promise<Ended> {
    const running: { task?: RunningTask } = {};
    let statements = 0;
    const proxy = await startMysqlProxy(server, (sql) => {
      if (CHANGES.test(sql)) statements += 1;
      if (statements !== nth || !CHANGES.test(sql)) return 'pass';
      running.task?.child.kill('SIGKILL');
      return moment === 'before' ? 'hold' : 'pass';
    });
    const access = { host: proxy.host, port: proxy.port, database: database.name, ...database.migrator };
    running.task = startTask(['task', 'migrate', '--attempt', 'killed-1'], databaseEnv(access));
    const { code, signal, stdout, stderr } = await running.task.ended;
    await proxy.close();
    return { code, signal, stdout, stderr, statements };
  }

  it('goes on where it was when it is run again, and ends like a migration that was never killed', async () => {
    const [calm, interrupted] = [await createBundleDatabase(server), await createBundleDatabase(server)];
    const { code, stderr, statements } = await run(calm, undefined, 'before');
    assert.equal(code, 0, stderr);
    assert.ok(statements > 40, `${statements} statements`);
    // Each run is killed further along than the one before: what is done is not done again.
    for (const [nth, moment] of [
      [1, 'before'],
      [Math.floor(statements / 3), 'during'],
      [12, 'before'],
    ] as const) {
      const killed = await run(interrupted, nth, moment);
      assert.equal(killed.signal, 'SIGKILL', `at statement ${nth}`);
      assert.equal(killed.stdout, '', 'a killed run reports nothing');
    }
    const last = await run(interrupted, undefined, 'before');
    assert.equal(last.code, 0, last.stderr);
    assert.ok(last.statements < statements, `${last.statements} of ${statements} statements were left`);
    assert.deepEqual(await schemaPicture(interrupted), await schemaPicture(calm));
    await Promise.all([calm.drop(), interrupted.drop()]);
  });
});

interface Ended extends Pick<TaskRan, 'code' | 'signal' | 'stdout' | 'stderr'> {
  /** That change something. */
  readonly statements: number;
}
