import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allKinds, defaultKinds } from '../../../src/kinds/kinds.ts';
import { migrationsFor, parseMigration } from '../../../src/storage/mysql/schema/migration-files.ts';
import { supportedSchema } from '../../../src/storage/schema-range.ts';
import { tableIn, tablesOf } from '../../support/migrations.ts';

const TEXT =
  '-- A comment.\n-- minReader: 1\n-- minWriter: 1\n-- gate: open\nCREATE TABLE `model` (`uid` INT);\nDO 1;\n';

describe('the checksum of a migration', () => {
  const checksumOf = (from: string, to: string): string => parseMigration('0001-x', TEXT.replace(from, to)).checksum;
  const before = parseMigration('0001-x', TEXT).checksum;

  it('stays where only a comment changes, so that no database refuses the file for that', () => {
    assert.equal(checksumOf('A comment', 'Another one'), before);
    assert.equal(parseMigration('0001-x', TEXT, 'snake_case').checksum, before);
  });

  it('is the same for a column that says the collation of its table itself, as those of before did not', () => {
    const text = TEXT.replace('INT', 'VARCHAR(64) NOT NULL');
    const explicit = text.replace('(64)', '(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
    assert.notEqual(text, explicit);
    assert.equal(parseMigration('0001-x', explicit).checksum, parseMigration('0001-x', text).checksum);
  });

  for (const [from, to] of [
    ['DO 1', 'DO 2'],
    ['`uid` INT', '`uid` BIGINT'],
    ['minWriter: 1', 'minWriter: 2'],
    ['gate: open', 'gate: closed'],
  ] as const) {
    it(`changes where ${from} becomes ${to}`, () => assert.notEqual(checksumOf(from, to), before));
  }
});

describe('the migrations of this version', () => {
  const numbered = migrationsFor(allKinds).flatMap(({ name, version }) =>
    version === undefined ? [] : [{ name, ...version }],
  );

  it('end at the version that the program says it knows', () => {
    assert.equal(numbered.at(-1)?.number, supportedSchema.version);
  });

  for (const { name, number, minReader, minWriter } of numbered) {
    it(`${name} says in its header which programs may read and write`, () => {
      for (const oldest of [minReader, minWriter]) assert.ok(oldest >= 1 && oldest <= number, String(oldest));
    });
  }

  /** The statements about the tables of a kind, without its name and its indexed columns. */
  const formOf = (kind: (typeof allKinds)[number]): readonly string[] => {
    const tables = new Set(tablesOf(kind));
    const own = migrationsFor(allKinds).flatMap(({ statements }) =>
      statements.filter((sql) => tables.has(tableIn(sql))),
    );
    return own.map((sql) =>
      sql
        .replaceAll(`\`${kind.table}`, '`kind')
        .replace(/(?<=`json` JSON NOT NULL,\n)[^]*(?= {2}PRIMARY KEY)/, '')
        .replace(/(?<=KEY `kind_tombstone` [^\n]*\)),?\n(?: {2}KEY [^\n]*\n)*/, '\n'),
    );
  };

  for (const kind of allKinds) {
    it(`makes the tables of ${kind.kind} by the same statements as those of every kind, but for indexed columns`, () => {
      const [first] = defaultKinds;
      assert.ok(first !== undefined);
      assert.deepEqual(formOf(kind), formOf(first));
      assert.equal(formOf(kind).length, tablesOf(kind).length);
    });
  }
});
