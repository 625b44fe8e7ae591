import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dialectOf } from '../../../src/storage/mysql/dialect.ts';
import { refuseOldServer, unsupported } from '../../../src/storage/mysql/server-version.ts';

describe('a server of a line that is not tested', () => {
  for (const [version, product] of [
    ['8.0.43', 'MySQL 8.0.43'],
    ['5.7.44-log', 'MySQL 5.7.44'],
    ['8.0.mysql_aurora.3.08.0-8.0.39', 'MySQL 8.0'],
    ['10.6.22-MariaDB-log', 'MariaDB 10.6.22'],
    ['5.5.5-10.6.22-MariaDB', 'MariaDB 10.6.22'],
  ] as const) {
    it(`is refused with the reason: ${version}`, async () => {
      const session = {
        dialect: dialectOf(version),
        maxPacketBytes: 1,
        query: () => Promise.resolve([[version]]),
        execute: () => Promise.resolve(0),
      };
      await assert.rejects(refuseOldServer(session), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'STORAGE_SERVER_UNSUPPORTED');
        return error.message.includes(`the server is ${product}, and the oldest that is tested is`);
      });
    });
  }

  for (const version of ['8.4.0', '9.7.4', '10.0.1', '10.11.6-MariaDB-0+deb12u1', '11.8.2-MariaDB', 'unknown']) {
    it(`is not ${version}`, () => assert.equal(unsupported(version), undefined));
  }
});
