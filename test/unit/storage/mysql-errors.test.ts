import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ShardUnavailableError, StorageUnavailableError } from '../../../src/storage/errors.ts';
import { NoAnswer } from '../../../src/storage/mysql/deadline.ts';
import { translateMysqlError } from '../../../src/storage/mysql/mysql-errors.ts';
import { isOutage } from '../../../src/sync/flows/outage-policy.ts';

const server = { host: 'db.example.com', port: 3307, database: 'the_database' };
const fromServer = (errno: number, sqlMessage = 'text of the server') => ({ code: `ER_${errno}`, errno, sqlMessage });
const codeOf = (error: unknown): string => translateMysqlError(error, server).code;

const table: readonly { code: string; retry: 'yes' | 'no'; numbers: readonly number[] }[] = [
  {
    code: 'STORAGE_UNAVAILABLE',
    retry: 'yes',
    numbers: [
      1040, 1047, 1053, 1077, 1129, 1203, 1226, 1290, 1317, 1461, 1792, 1836, 1927, 1969, 3024, 3032, 3100, 3169, 4031,
      1021, 1041, 1114,
    ],
  },
  { code: 'STORAGE_ACCESS_DENIED', retry: 'yes', numbers: [1044, 1045, 1698, 1820, 1862, 3118] },
  { code: 'STORAGE_DATABASE_MISSING', retry: 'yes', numbers: [1049] },
  { code: 'STORAGE_SCHEMA_MISSING', retry: 'yes', numbers: [1054, 1146] },
  { code: 'STORAGE_PERMISSION', retry: 'yes', numbers: [1142, 1143, 1227] },
  { code: 'STORAGE_CONTENTION', retry: 'yes', numbers: [1205, 1213, 1020, 1062, 1180, 1412, 1615, 3101] },
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
        const error = translateMysqlError(fromServer(number), server);
        assert.deepEqual([error.code, error.retry], [code, retry], String(number));
      }
    });
  }

  it('names the database that a login may not use, which need not be the configured one', () => {
    const refused = fromServer(1044, "Access denied for user 'm'@'%' to database 'the_snapshots'");
    const { message } = translateMysqlError(refused, server);
    assert.match(message, /Grant the user the rights on the database "the_snapshots"\.$/);
  });

  it('names the shard of several that is away, and none where the keyspace has one', () => {
    const of = (target: string): unknown =>
      translateMysqlError(
        fromServer(1105, `target: ${target}.primary: no healthy tablet available for 'keyspace:"..."'`),
        server,
      );
    const named = of('michelangelo.40-80');
    assert.ok(named instanceof ShardUnavailableError);
    assert.deepEqual([named.code, named.shard], ['STORAGE_UNAVAILABLE', '40-80']);
    assert.match(named.message, /from the shard 40-80/);
    assert.ok(of('michelangelo_global.-') instanceof StorageUnavailableError);
    assert.ok(!(of('michelangelo_global.-') instanceof ShardUnavailableError));
  });

  it('takes a failure of the connection to the server for an outage', () => {
    const sockets = [
      'ECONNREFUSED',
      'ECONNRESET',
      'EPIPE',
      'ETIMEDOUT',
      'EHOSTUNREACH',
      'ENOTFOUND',
      'EAI_AGAIN',
      'EPROTO',
    ];
    const driver = [
      'PROTOCOL_CONNECTION_LOST',
      'PROTOCOL_SEQUENCE_TIMEOUT',
      'HANDSHAKE_SSL_ERROR',
      'HANDSHAKE_NO_SSL_SUPPORT',
    ];
    const tls = [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'CERT_HAS_EXPIRED',
      'SELF_SIGNED_CERT_IN_CHAIN',
    ];
    for (const code of [...sockets, ...driver, ...tls]) {
      assert.equal(codeOf({ code, errno: -111, message: 'socket' }), 'STORAGE_UNAVAILABLE', code);
    }
    const closed = "Can't add new command when connection is in closed state";
    for (const error of [new NoAnswer('no answer within 1 ms'), new Error('Pool is closed.'), new Error(closed)]) {
      assert.equal(codeOf(error), 'STORAGE_UNAVAILABLE', error.message);
    }
  });

  it('names the server that was silent as the configuration does, and one that refused by its address', () => {
    for (const silent of [new NoAnswer('no answer within 1 ms'), { code: 'ETIMEDOUT', message: 'connect ETIMEDOUT' }])
      assert.match(
        translateMysqlError(silent, server).message,
        / from db\.example\.com, port 3307 \(mysql\.host and mysql\.port\)/,
      );
    const refused = { code: 'ECONNREFUSED', address: '10.0.0.7', port: 3307, message: 'connect ECONNREFUSED' };
    assert.match(
      translateMysqlError(refused, server, 'clone').message,
      / from 10\.0\.0\.7, port 3307 \(clone\.host and/,
    );
  });

  it('takes an error of the program for no outage, retries it, and names its place without its text', () => {
    const own = [new TypeError('s3cr3t is not a function'), new RangeError('s3cr3t'), new Error('s3cr3t')];
    const ofNode = Object.assign(new TypeError('s3cr3t'), { code: 'ERR_INVALID_ARG_TYPE' });
    // The driver marks so whatever is thrown while it takes up a statement.
    const ofDriver = Object.assign(new TypeError('Bind parameters must not contain undefined'), { fatal: true });
    for (const error of [...own, ofNode, ofDriver]) {
      const translated = translateMysqlError(error, server);
      assert.deepEqual(
        [translated.code, translated.retry, isOutage(translated)],
        ['STORAGE_PROGRAM_ERROR', 'yes', false],
      );
      assert.match(translated.message, new RegExp(`${error.name} at .*mysql-errors.test.ts:`));
      assert.doesNotMatch(translated.message, /s3cr3t/);
    }
  });

  it('names the column and never the value', () => {
    const tooLong = translateMysqlError(fromServer(1406, "Data too long for column 'owner' at row 1"), server);
    assert.match(tooLong.message, /column 'owner'/);
    const wrong = translateMysqlError(
      fromServer(1366, "Incorrect integer value: 's3cr3t' for column 'tier' at row 1"),
      server,
    );
    assert.match(wrong.message, /for column 'tier'/);
    assert.doesNotMatch(JSON.stringify([wrong.message, wrong.cause]), /s3cr3t/);
    const duplicate = translateMysqlError(fromServer(1062, "Duplicate entry 's3cr3t' for key 'PRIMARY'"), server);
    assert.doesNotMatch(duplicate.message, /s3cr3t/);
  });

  it('says which database is missing and what to do', () => {
    assert.match(translateMysqlError(fromServer(1049), server).message, /"the_database" does not exist.*task migrate/);
  });
});
