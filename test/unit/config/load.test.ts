import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { storageEnabled } from '../../../src/config/feature-switches.ts';
import {
  ConfigurationError,
  configurationKeys,
  loadConfiguration,
  loadTaskConfiguration,
  problemsIn,
  settingsOf,
  taskKeys,
} from '../../../src/config/load.ts';
import type { Configuration } from '../../../src/config/schema.ts';
import { originalConfiguration } from '../../support/original/configuration.ts';

const directory = mkdtempSync(join(tmpdir(), 'config-'));
after(() => rmSync(directory, { recursive: true }));

function load(yaml: string, env: Record<string, string> = {}): Configuration {
  const file = join(directory, 'config.yaml');
  writeFileSync(file, yaml);
  return loadConfiguration({ file, env });
}

/** Path → message of everything wrong. */
function problems(yaml: string, env: Record<string, string> = {}): Record<string, string> {
  try {
    load(yaml, env);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return Object.fromEntries(error.errors.map(({ path, message }) => [path, message]));
  }
  return {};
}

describe('configuration', () => {
  it('has the defaults of the specification', () => {
    const { admission, ingester, mysql, metadataStorage } = load('');
    assert.equal(metadataStorage.enableMetadataStorage, false);
    assert.deepEqual([metadataStorage.tableNames, admission.createMarked], ['auto', 'allow']);
    assert.equal(ingester.kinds.length, 13);
    assert.equal(ingester.concurrentReconciles, 320);
    assert.equal(ingester.requeuePeriod, 30_000);
    assert.deepEqual(
      [mysql.port, mysql.maxOpenConns, mysql.maxIdleConns, mysql.connMaxLifetime],
      [3306, 25, 5, 300_000],
    );
  });

  it('is read from a file', () => {
    const { ingester, mysql } = load(
      'mysql: {host: db, port: 3307}\ningester: {requeuePeriod: 1m30s, requeuePeriodMap: {Model: 500ms}, kinds: [Model, CachedOutput]}',
    );
    assert.equal(mysql.host, 'db');
    assert.equal(mysql.port, 3307);
    assert.equal(ingester.requeuePeriod, 90_000);
    assert.deepEqual(ingester.requeuePeriodMap, { Model: 500 });
    assert.deepEqual(ingester.kinds, ['Model', 'CachedOutput']);
  });

  it('lets the environment win over the file, for every scalar key', () => {
    const env = { INGESTER_MYSQL_HOST: 'from-env', INGESTER_MYSQL_PORT: '1234', INGESTER_MYSQL_ENABLED: 'true' };
    const { mysql } = load('mysql: {host: from-file, user: u}', env);
    assert.deepEqual([mysql.host, mysql.port, mysql.enabled, mysql.user], ['from-env', 1234, true, 'u']);
    const named = [...configurationKeys, ...taskKeys].filter(({ env: name }) => name !== undefined);
    assert.equal(new Set(named.map(({ env: name }) => name)).size, named.length);
  });

  it('expands variables and their defaults, and names the missing variables', () => {
    assert.equal(load('mysql: {host: "${DB_HOST:fallback}"}').mysql.host, 'fallback');
    assert.equal(load('mysql: {host: "${DB_HOST:fallback}"}', { DB_HOST: 'set' }).mysql.host, 'set');
    assert.match(problems('mysql: {host: "${DB_HOST}"}')['mysql.host'] ?? '', /DB_HOST is not set/);
  });

  it('refuses an environment that switches storage on against the file, which the webhook follows', () => {
    const variable = 'INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE';
    for (const said of ['false', '"false"']) {
      const file = `metadataStorage: {enableMetadataStorage: ${said}}`;
      assert.throws(
        () => load(file, { [variable]: 'true' }),
        /metadataStorage\.enableMetadataStorage: the file says false/,
      );
      assert.equal(load(file, { [variable]: 'false' }).metadataStorage.enableMetadataStorage, false);
    }
    assert.equal(load('', { [variable]: 'true' }).metadataStorage.enableMetadataStorage, true);
  });

  it('reads the password from a file', () => {
    const file = join(directory, 'password');
    writeFileSync(file, 's3cr3t\n');
    assert.equal(load(`mysql: {passwordFile: ${file}}`).mysql.password, 's3cr3t');
    assert.ok('mysql.passwordFile' in problems('mysql: {passwordFile: /does/not/exist}'));
    assert.match(problems(`mysql: {password: x, passwordFile: ${file}}`)['mysql.passwordFile'] ?? '', /not both/);
  });

  it('takes an authority for MySQL only where it has an effect', () => {
    assert.equal(load('mysql: {tlsMode: verify, tlsCaFile: /ca.pem}').mysql.tlsCaFile, '/ca.pem');
    assert.match(problems('mysql: {tlsCaFile: /ca.pem}')['mysql.tlsCaFile'] ?? '', /no effect/);
    assert.ok('mysql.tlsMode' in problems('mysql: {tlsMode: on}'));
    for (const host of ['192.0.2.1', '::1']) {
      assert.match(problems(`mysql: {tlsMode: verify, host: '${host}'}`)['mysql.host'] ?? '', /must be a host name/);
    }
  });

  it('lets all replicas work only where they have leases to share the work by', () => {
    assert.equal(load('leaderElection: { enabled: true }').leaderElection.active, 'one');
    const env = { INGESTER_LEADER_ELECTION_ACTIVE: 'all' };
    assert.equal(load('leaderElection: { enabled: true }', env).leaderElection.active, 'all');
    assert.match(problems('', env)['leaderElection.active'] ?? '', /takes leaderElection.enabled/);
  });

  it('reports every problem at once, each with its path', () => {
    const found = problems(`
mysql: {hots: x, port: 70000}
bogus: 1
metadataStorage: {deletionDelai: 10s, enableMetadataStorage: maybe}
ingester: {kinds: [Foo], requeuePeriod: soon, requeuePeriodMap: {Bar: 1s}, concurrentReconciles: -1}
`);
    assert.deepEqual(Object.keys(found).sort(), [
      'bogus',
      'ingester.concurrentReconciles',
      'ingester.kinds.0',
      'ingester.requeuePeriod',
      'ingester.requeuePeriodMap.Bar',
      'metadataStorage.deletionDelai',
      'metadataStorage.enableMetadataStorage',
      'mysql.hots',
      'mysql.port',
    ]);
    assert.match(found['ingester.kinds.0'] ?? '', /unknown kind "Foo"; known kinds: Project, /);
    assert.equal(found['mysql.hots'], 'unknown key; the nearest known key is mysql.host');
  });

  it('takes 0 for the default where the original does, in any form', () => {
    const keys = 'maxOpenConns: 0, maxIdleConns: "0", connMaxLifetime: 0';
    const { mysql, ingester } = load(
      `mysql: {${keys}}\ningester: {concurrentReconciles: 0, requeuePeriod: 0s, concurrentReconcilesMap: {Model: 0}, requeuePeriodMap: {Model: 0}}`,
    );
    assert.deepEqual([mysql.maxOpenConns, mysql.maxIdleConns, mysql.connMaxLifetime], [25, 5, 300_000]);
    assert.deepEqual([ingester.concurrentReconciles, ingester.requeuePeriod], [320, 30_000]);
    assert.deepEqual(
      [ingester.concurrentReconcilesMap, ingester.requeuePeriodMap],
      [{ Model: 320 }, { Model: 30_000 }],
    );
    assert.equal(load('', { INGESTER_MYSQL_MAX_OPEN_CONNS: '0' }).mysql.maxOpenConns, 25);
    assert.match(problems('mysql: {maxOpenConns: 1001}')['mysql.maxOpenConns'] ?? '', /from 0 to 1000/);
  });

  it('takes the whole file of the original, and still refuses a key that is wrong in the sections it reads', () => {
    const file = originalConfiguration({ host: 'mysql', port: 3306, user: 'root', database: 'michelangelo' });
    const { mysql, ingester, metadataStorage } = load(file, { MYSQL_PASSWORD: 'x' });
    assert.deepEqual([mysql.host, mysql.password, ingester.concurrentReconciles], ['mysql', 'x', 2]);
    assert.deepEqual([ingester.concurrentReconcilesMap, metadataStorage.enableMetadataStorage], [{}, true]);
    assert.deepEqual(
      Object.keys(problems(`${file}\nminioo: {}`.replace('port: 3306', 'prot: 3306'), { MYSQL_PASSWORD: 'x' })),
      ['mysql.prot', 'minioo'],
    );
  });

  it('leaves the keys of the original alone in the section of the webhook, which has keys of its own', () => {
    const theirs = "host: 0.0.0.0, port: 9443, url: 'https://apiserver:9443', certDir: '${NOT_SET}'";
    const { webhook } = load(`webhook: {${theirs}, reconcilerUser: system:serviceaccount:a:b}`);
    assert.equal(webhook.reconcilerUser, 'system:serviceaccount:a:b');
    assert.deepEqual(Object.keys(webhook), Object.keys(load('').webhook));
    const wrong = Object.keys(problems(`webhook: {${theirs}, hots: a, shutdownDelay: soon}\nserver: {url: a}`));
    assert.deepEqual(wrong.sort(), ['server.url', 'webhook.hots', 'webhook.shutdownDelay']);
    assert.deepEqual(Object.keys(problems('webhook: [host]')), ['webhook']);
  });

  it('names the nearest known key for an unknown one, of a section and of a rule too', () => {
    const rule = '{name: r, kinds: [PipelineRun], keepLast: 1, finishdFor: 1h}';
    const found = problems(`mysq: {}\nmysql: {maxOpenConnections: 5}\neviction: {rules: [${rule}]}`);
    assert.deepEqual(found, {
      mysq: 'unknown key; the nearest known key is mysql',
      'mysql.maxOpenConnections': 'unknown key; the nearest known key is mysql.maxOpenConns',
      'eviction.rules.0.finishdFor': 'unknown key; the nearest known key is eviction.rules.finishedFor',
    });
  });

  it('leaves the sections of tasks to the tasks, which refuse what is wrong in them', () => {
    const yaml = 'clone: {hots: source, passwordFile: "${NOT_SET}"}\nmysql: {host: db}';
    assert.equal(load(yaml).mysql.host, 'db');
    assert.equal('clone' in load(yaml), false);
    const file = join(directory, 'config.yaml');
    const env = { NOT_SET: '/password', INGESTER_CLONE_HOST: 'from-env' };
    assert.throws(() => loadTaskConfiguration({ file, env }), /clone\.hots: .*nearest known key is clone\.host/);
    writeFileSync(file, 'clone: {passwordFile: "${NOT_SET}"}');
    const { clone } = loadTaskConfiguration({ file, env });
    assert.deepEqual([clone.host, clone.passwordFile, clone.port], ['from-env', '/password', 3306]);
  });

  it('reads an address with a host, with a port alone, and of IPv6, and refuses others', () => {
    const addressOf = (text: string) => load(`server: {bindAddress: '${text}'}`).server.bindAddress;
    assert.deepEqual(addressOf('127.0.0.1:9443'), { host: '127.0.0.1', port: 9443 });
    assert.deepEqual(addressOf(':6443'), { port: 6443 });
    assert.deepEqual(addressOf('[::1]:6443'), { host: '::1', port: 6443 });
    assert.deepEqual(load('').health.bindAddress, { port: 8081 });
    for (const wrong of ['localhost', '1.2.3.4:70000', '::1:80']) {
      assert.match(problems(`health: {bindAddress: '${wrong}'}`)['health.bindAddress'] ?? '', /expected an address/);
    }
  });

  it('reports a file that is not a map, not YAML, or missing', () => {
    assert.match(Object.values(problems('- a\n- b'))[0] ?? '', /map of sections/);
    assert.ok(Object.values(problems('mysql: {host: [')).length > 0);
    assert.match(Object.values(problems('mysql: {host: a}\nmysql: {host: b}'))[0] ?? '', /unique/);
    assert.throws(() => loadConfiguration({ file: '/does/not/exist', env: {} }), /cannot read the file/);
  });

  it('never repeats a password in an error', () => {
    try {
      load('mysql: {password: [s3cr3t]}');
      assert.fail('accepted');
    } catch (error) {
      assert.doesNotMatch(String(error), /s3cr3t/);
    }
  });
});

describe('opt-in gates', () => {
  it('leave the reconciler idle without metadataStorage.enableMetadataStorage', () => {
    assert.equal(storageEnabled(load('mysql: {host: db}')), false);
  });

  it('refuse to start when switched on with an empty mysql section, naming the keys', () => {
    const configuration = load('metadataStorage: {enableMetadataStorage: true}');
    assert.throws(() => storageEnabled(configuration), /mysql\.host.*\n.*mysql\.user.*\n.*mysql\.database/);
  });

  it('open with any of host, user, database or enabled', () => {
    for (const key of ['host: h', 'user: u', 'database: d', 'enabled: true']) {
      assert.equal(storageEnabled(load(`metadataStorage: {enableMetadataStorage: true}\nmysql: {${key}}`)), true);
    }
  });
});

describe('what would be refused in some sections', () => {
  it('is told, also inside of lists, and not what other sections and keys lack', () => {
    const paths = (sections: JsonObject): readonly string[] => problemsIn(sections).map(({ path }) => path);
    assert.deepEqual(
      paths({ mysql: { tlsMode: 'verify', host: 'db' }, metadataStorage: { enableMetadataStorage: true } }),
      [],
    );
    assert.deepEqual(paths({ audit: { perod: 1 }, log: { level: 'loud' } }), ['audit.perod', 'log.level']);
    assert.deepEqual(paths({ eviction: { rules: [{ nme: 'r' }] } }).slice(0, 1), ['eviction.rules.0.name']);
  });

  it('is bounded, however many and long the keys of a user are', () => {
    const many = Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`k${index}`, 1]));
    for (const sections of [{ audit: many }, many, { audit: { ['x'.repeat(60_000)]: 1 } }]) {
      const started = performance.now();
      const { length } = problemsIn(sections);
      assert.ok(length > 0 && length <= 10, `${length} problems`);
      assert.ok(performance.now() - started < 1000);
    }
    assert.deepEqual(problemsIn({ audit: { perod: 'x'.repeat(100_000) } }), []);
  });
});

describe('the settings of a configuration', () => {
  const settings = (yaml: string, env: Record<string, string> = {}) => {
    const file = join(directory, 'settings.yaml');
    writeFileSync(file, yaml);
    return settingsOf({ file, env });
  };

  it('are those of file and environment as they are written, with no password, and read no file of a pod', () => {
    const file = 'audit: { period: 3h }\nmysql: { passwordFile: /nowhere/password }';
    assert.deepEqual(settings(file, { INGESTER_MYSQL_HOST: 'db' }), {
      audit: { period: '3h' },
      mysql: { passwordFile: '/nowhere/password', host: 'db' },
    });
    assert.deepEqual(settings('mysql: { password: s3cr3t }'), { mysql: { password: '***' } });
  });

  it('are refused where a program would refuse them', () => {
    assert.throws(
      () => settings('audit: { perod: 3h }'),
      /audit\.perod: unknown key; the nearest known key is audit\.period/,
    );
  });
});
