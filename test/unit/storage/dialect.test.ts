import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Dialect, dialectOf } from '../../../src/storage/mysql/dialect.ts';
import { passing } from '../../../src/storage/mysql/gate.ts';
import { translateMysqlError } from '../../../src/storage/mysql/mysql-errors.ts';
import type { SqlSession } from '../../../src/storage/mysql/pool.ts';
import { readTombstones } from '../../../src/storage/mysql/read/tombstones.ts';
import { createLedger } from '../../../src/storage/mysql/schema/ledger.ts';
import { createFence } from '../../../src/storage/mysql/tasks/task-fence.ts';
import { modelKind } from '../../support/objects.ts';

const root = join(import.meta.dirname, '../../..');
const vitess = dialectOf('8.4.6-Vitess');

describe('the dialect of a server', () => {
  for (const [version, comment, product] of [
    ['9.7.4', 'Source distribution', 'MySQL'],
    ['10.11.6-MariaDB-0+deb12u1', 'Debian 12', 'MariaDB'],
    ['5.5.5-10.11.6-MariaDB', '', 'MariaDB'],
    ['8.4.6-Vitess', '', 'Vitess'],
    ['8.0.35', "Version: 24.0.0 (Git revision  branch '') built on  by @ using go1.26 linux/amd64", 'Vitess'],
  ] as const) {
    it(`is ${product} where it says ${version} and "${comment}"`, () => {
      assert.equal(dialectOf(version, comment).product, product);
    });
  }
});

describe('an error of a vtgate', () => {
  for (const [errno, text, code] of [
    [1105, 'target: michelangelo.80-.primary: no healthy tablet available', 'STORAGE_UNAVAILABLE'],
    [1105, 'VT15001: transaction error, issue ROLLBACK and retry the transaction', 'STORAGE_UNAVAILABLE'],
    [1105, 'vttablet: rpc error: code = Unavailable desc = connection error', 'STORAGE_UNAVAILABLE'],
    [1105, 'VT12001: unsupported: JSON_TABLE expressions', 'STORAGE_FAILURE'],
    [1203, 'transaction pool connection limit exceeded', 'STORAGE_UNAVAILABLE'],
    [1317, 'transaction 17: ended (exceeded timeout: 30s)', 'STORAGE_UNAVAILABLE'],
    [1317, 'Row count exceeded 10000', 'STORAGE_FAILURE'],
    [1153, 'grpc: received message larger than max (17000000 vs. 16777216)', 'ROW_REFUSED'],
  ] as const) {
    it(`is ${code} for ${errno} and "${text}"`, () => {
      const error = Object.assign(new Error(text), { errno, code: 'ER', sqlMessage: text });
      assert.equal(translateMysqlError(error, { host: 'vtgate', port: 3306, database: 'a-database' }).code, code);
    });
  }
});

describe('what a transaction passes before it writes', () => {
  const ordered = async (dialect: Dialect, writes: number): Promise<readonly string[]> => {
    const order: string[] = [];
    const session: SqlSession = {
      dialect,
      maxPacketBytes: 1,
      query: () => Promise.resolve(order.push('lock')).then(() => []),
      execute: () => Promise.resolve(order.push('write')),
    };
    const pass = (): Promise<void> => Promise.resolve(order.push('pass')).then(() => undefined);
    await passing(session, pass, async (gated) => {
      await gated.query('SELECT');
      for (let write = 0; write < writes; write += 1) await gated.execute('UPDATE');
    });
    return order;
  };

  it('comes first on one server', async () => {
    assert.deepEqual(await ordered(dialectOf('9.7.4'), 2), ['pass', 'lock', 'write', 'write']);
  });

  it('comes after the locks and before the first write on shards, once', async () => {
    assert.deepEqual(await ordered(vitess, 2), ['lock', 'pass', 'write', 'write']);
  });

  it('comes at the end where nothing was written', async () => {
    assert.deepEqual(await ordered(vitess, 0), ['lock', 'pass']);
  });
});

describe('tombstones by names', () => {
  it('go on after a page whose names are all in use', async () => {
    const time = '2026-01-01 00:00:00.000000';
    const evicted = (name: string) => [`uid-${name}`, 'n', name, '1', time, 3];
    const names = ['a', 'b', 'c'];
    const query: SqlSession['query'] = (sql, parameters = []) => {
      const isPage = sql.includes('LIMIT');
      const after = String(parameters.length > 2 ? parameters[3] : '');
      if (isPage)
        return Promise.resolve(
          names
            .filter((name) => name > after)
            .slice(0, 1)
            .map((name) => ['n', name]),
        );
      const asked = String(parameters[1]);
      return Promise.resolve(asked === 'a' ? [evicted('a'), ['uid-alive', 'n', 'a', '2', time, 0]] : [evicted(asked)]);
    };
    const session = { dialect: vitess, query } as unknown as SqlSession;
    const found = await readTombstones(session, modelKind, { limit: 1 });
    assert.deepEqual(
      found.map(({ name }) => name),
      ['b'],
    );
  });
});

describe('the vschema that ships', () => {
  const read = (name: string) =>
    JSON.parse(readFileSync(join(root, 'schema/vitess', name), 'utf8')) as { readonly tables: Record<string, object> };
  const created = (sql: string): readonly string[] =>
    [...sql.matchAll(/CREATE TABLE IF NOT EXISTS `(\w+)`/g)].map(([, name = '']) => name);

  it('has an entry for every table that a migration or a task makes', () => {
    const files = globSync('schema/migrations/**/*.sql', { cwd: root }).map((file) =>
      readFileSync(join(root, file), 'utf8'),
    );
    const adopted = readFileSync(join(root, 'src/storage/mysql/tasks/adopt.ts'), 'utf8');
    const tables = created([...files, ...createFence, createLedger, adopted].join('\n'));
    const known = { ...read('michelangelo.vschema.json').tables, ...read('michelangelo_global.vschema.json').tables };
    assert.ok(tables.length > 40);
    assert.deepEqual(
      tables.filter((table) => !(table in known)),
      [],
    );
  });

  it('routes every table without shards to its keyspace', () => {
    const { rules } = JSON.parse(readFileSync(join(root, 'schema/vitess/routing-rules.json'), 'utf8')) as {
      readonly rules: readonly { readonly from_table: string }[];
    };
    const unsharded = Object.keys(read('michelangelo_global.vschema.json').tables);
    assert.deepEqual(
      rules.map(({ from_table: from }) => from),
      unsharded.map((table) => `michelangelo.${table}`),
    );
  });
});
