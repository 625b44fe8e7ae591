import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { translateMysqlError } from '../../../src/storage/mysql/mysql-errors.ts';

const fromServer = (errno: number, sqlMessage = 'text of the server') => ({ code: `ER_${errno}`, errno, sqlMessage });
const codeOf = (error: unknown): string => translateMysqlError(error, 'the_database').code;

const table: readonly { code: string; retry: 'yes' | 'no'; numbers: readonly number[] }[] = [
  {
    code: 'STORAGE_UNAVAILABLE',
    retry: 'yes',
    numbers: [1040, 1053, 1077, 1290, 1792, 1836, 1927, 1969, 3024, 3169, 4031, 1021, 1114],
  },
  { code: 'STORAGE_ACCESS_DENIED', retry: 'yes', numbers: [1044, 1045, 1698] },
  { code: 'STORAGE_DATABASE_MISSING', retry: 'yes', numbers: [1049] },
  { code: 'STORAGE_SCHEMA_MISSING', retry: 'yes', numbers: [1054, 1146] },
  { code: 'STORAGE_PERMISSION', retry: 'yes', numbers: [1142, 1143, 1227] },
  { code: 'STORAGE_CONTENTION', retry: 'yes', numbers: [1205, 1213, 1020, 1062] },
  {
    code: 'ROW_REFUSED',
    retry: 'no',
    numbers: [1048, 1118, 1153, 1264, 1265, 1292, 1366, 1406, 3140, 3141, 3157, 4025],
  },
  { code: 'STORAGE_FAILURE', retry: 'yes', numbers: [1064, 9999] },
];

describe('translateMysqlError', () => {
  for (const { code, retry, numbers } of table) {
    it(`turns ${numbers.join(', ')} into ${code}, retry ${retry}`, () => {
      for (const number of numbers) {
        const error = translateMysqlError(fromServer(number), 'the_database');
        assert.deepEqual([error.code, error.retry], [code, retry], String(number));
      }
    });
  }

  it('takes everything that did not come from the server for a lost connection', () => {
    for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'PROTOCOL_CONNECTION_LOST', 'ENOTFOUND']) {
      assert.equal(codeOf({ code, errno: -111, message: 'socket' }), 'STORAGE_UNAVAILABLE');
    }
    assert.equal(codeOf(new TypeError('anything')), 'STORAGE_UNAVAILABLE');
  });

  it('names the column and never the value', () => {
    const tooLong = translateMysqlError(fromServer(1406, "Data too long for column 'owner' at row 1"), 'd');
    assert.match(tooLong.message, /column 'owner'/);
    const wrong = translateMysqlError(
      fromServer(1366, "Incorrect integer value: 's3cr3t' for column 'tier' at row 1"),
      'd',
    );
    assert.match(wrong.message, /for column 'tier'/);
    assert.doesNotMatch(JSON.stringify([wrong.message, wrong.cause]), /s3cr3t/);
    const duplicate = translateMysqlError(fromServer(1062, "Duplicate entry 's3cr3t' for key 'PRIMARY'"), 'd');
    assert.doesNotMatch(duplicate.message, /s3cr3t/);
  });

  it('says which database is missing and what to do', () => {
    assert.match(
      translateMysqlError(fromServer(1049), 'the_database').message,
      /"the_database" does not exist.*task migrate/,
    );
  });
});
