import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clearText } from '../../../src/cli/prepare.ts';
import { loadConfiguration, loadTaskConfiguration } from '../../../src/config/load.ts';

const storage = { INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true' };
const keysOf = (env: Readonly<Record<string, string>>): readonly string[] =>
  clearText(loadConfiguration({ file: undefined, env })).map(({ key, host }) => `${key} ${host}`);

describe('clear text on the way to MySQL', () => {
  for (const host of ['mysql.example', '10.0.0.7', '2001:db8::1', 'localhost.example', '127.example']) {
    it(`is reported for ${host}`, () => {
      assert.deepEqual(keysOf({ ...storage, INGESTER_MYSQL_HOST: host }), [`mysql.tlsMode ${host}`]);
    });
  }

  for (const host of ['localhost', 'LOCALHOST', 'db.localhost', '127.0.0.1', '127.3.2.1', '::1', '::ffff:127.0.0.1']) {
    it(`is not reported on this machine: ${host}`, () => {
      assert.deepEqual(keysOf({ ...storage, INGESTER_MYSQL_HOST: host }), []);
    });
  }

  it('is not reported where the server is verified, or not used at all', () => {
    const host = { INGESTER_MYSQL_HOST: 'mysql.example' };
    assert.deepEqual(keysOf({ ...storage, ...host, INGESTER_MYSQL_TLS_MODE: 'verify' }), []);
    assert.deepEqual(keysOf(host), []);
  });

  it('is reported for the server that a clone reads from', () => {
    const source = { file: undefined, env: { INGESTER_CLONE_HOST: 'source.example' } };
    assert.deepEqual(clearText(loadTaskConfiguration(source)), [{ key: 'clone.tlsMode', host: 'source.example' }]);
    assert.deepEqual(clearText(loadConfiguration(source)), []);
  });
});
