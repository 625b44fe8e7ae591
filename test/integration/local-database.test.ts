import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { cachedFolder } from '../../hack/local/cached-folder.ts';
import { findDebianMirror } from '../../hack/local/debian-mirror.ts';
import { type Flavour, flavours } from '../../hack/local/flavours.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { eventually } from '../support/eventually.ts';
import { isRunning, killAfterFirstLine, processesOf, temporaryFolder } from '../support/processes.ts';

const silent = (): void => undefined;

/** Who names a server may have no other, and that one cannot be stopped. */
function unlessNamed(flavour: Flavour): { readonly skip: string | false } {
  const { urlVariable } = flavours[flavour];
  return { skip: (process.env[urlVariable] ?? '') === '' ? false : `${urlVariable} names a server` };
}

async function withConnection<Result>(
  server: DatabaseServer,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { host, port, rootUser: user, rootPassword: password } = server;
  const connection = await createConnection({ host, port, user, password });
  try {
    return await work(connection);
  } finally {
    connection.destroy();
  }
}

function query(server: DatabaseServer, sql: string): Promise<RowDataPacket[]> {
  return withConnection(server, async (connection) => (await connection.query<RowDataPacket[]>(sql))[0]);
}

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`a local ${flavour}`, unlessNamed(flavour), () => {
    let server: DatabaseServer;
    before(async () => (server = await startDatabase({ flavour, progress: silent })));
    after(() => server.dispose());

    it('is the flavour that it reports, and new enough', async () => {
      const [row] = await query(server, 'SELECT CONCAT(VERSION(), " ", @@version_comment) AS version');
      assert.equal(flavours[flavour].accepts(String(row!['version'])), server.version);
      assert.equal(/mariadb/i.test(String(row!['version'])), flavour === 'mariadb');
    });

    it('is durable, keeps a binary log, tells the time in UTC and is reachable on loopback only', async () => {
      const names = ['innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'time_zone', 'bind_address'];
      const [row] = await query(server, `SELECT ${names.map((name) => `@@${name} AS ${name}`).join(', ')}`);
      assert.deepEqual(Object.values(row!), [1, 1, 1, '+00:00', '127.0.0.1']);
    });

    it('lets no client in without the password', async () => {
      const accounts = await query(server, 'SELECT CONCAT(user, "@", host) AS name FROM mysql.user');
      const names = accounts.map((account) => String(account['name']));
      assert.deepEqual(
        names.filter((name) => /^(root)?@/.test(name)),
        ['root@localhost'],
      );
      const { host, port } = server;
      await assert.rejects(createConnection({ host, port, user: 'root' }), { code: 'ER_ACCESS_DENIED_ERROR' });
    });

    it('keeps committed rows over a crash, on the same port', async () => {
      const { port } = server;
      await withConnection(server, async (connection) => {
        await connection.query('CREATE DATABASE kept');
        await connection.query('CREATE TABLE kept.words (word VARCHAR(20) PRIMARY KEY)');
        await connection.query("INSERT INTO kept.words VALUES ('committed')");
        await connection.query('START TRANSACTION');
        await connection.query("INSERT INTO kept.words VALUES ('uncommitted')");
        await server.kill();
      });
      await assert.rejects(query(server, 'SELECT 1'), { code: 'ECONNREFUSED' });
      await server.start();
      assert.equal(server.port, port);
      const rows = await query(server, 'SELECT word FROM kept.words');
      assert.deepEqual(
        rows.map((row) => row['word'] as string),
        ['committed'],
      );
    });

    it('answers nothing while it is paused, and continues', async () => {
      await withConnection(server, async (connection) => {
        server.pause();
        // The kernel stops the server's threads one after the other.
        await new Promise((resolve) => setTimeout(resolve, 200));
        const answer = connection.query('SELECT 1').then(() => 'answered');
        const silence = new Promise((resolve) => setTimeout(resolve, 300, 'silent'));
        assert.equal(await Promise.race([answer, silence]), 'silent');
        server.resume();
        assert.equal(await answer, 'answered');
      });
    });

    it('stops even while it is paused, and starts again', async () => {
      server.pause();
      await server.stop();
      await server.stop();
      await server.start();
      assert.equal((await query(server, 'SELECT COUNT(*) AS words FROM kept.words'))[0]!['words'], 1);
    });

    it('gives a command with which a user can run SQL', () => {
      const [command = '', ...args] = server.clientCommand('kept');
      const options = [
        '--batch',
        '--skip-column-names',
        '--execute=SELECT CONCAT(CURRENT_USER(), " ", word) FROM words',
      ];
      const output = execFileSync(command, [...options, ...args], { encoding: 'utf8' });
      assert.equal(output, 'root@localhost committed\n');
    });

    it('leaves neither process nor folder when it is disposed of', async () => {
      const directory = server.directory!;
      const pids = processesOf(directory);
      assert.equal(pids.length, 2, 'server and reaper');
      await server.dispose();
      await server.dispose();
      assert.deepEqual(pids.filter(isRunning), []);
      assert.equal(existsSync(directory), false);
    });

    it('leaves neither process nor folder when its starter is killed', async () => {
      const text = `import { startDatabase } from ${moduleText('../../hack/local/mysql.ts')};
        import { processesOf } from ${moduleText('../support/processes.ts')};
        const { directory } = await startDatabase({ flavour: '${flavour}', progress: () => undefined });
        console.log(JSON.stringify({ directory, pids: processesOf(directory) }));`;
      const { directory, pids } = JSON.parse(await killAfterFirstLine(text)) as { directory: string; pids: number[] };
      assert.equal(pids.length, 2);
      await eventually(() => assert.deepEqual(pids.filter(isRunning), []));
      await eventually(() => assert.equal(existsSync(directory), false));
    });
  });
}

function moduleText(path: string): string {
  return JSON.stringify(join(import.meta.dirname, path));
}

describe('an external database', unlessNamed('mariadb'), () => {
  let server: DatabaseServer;
  before(async () => (server = await startDatabase({ flavour: 'mariadb', progress: silent })));
  after(() => server.dispose());
  const urlOf = ({ host, port, rootUser, rootPassword }: DatabaseServer): string =>
    `mysql://${rootUser}:${rootPassword}@${host}:${port}`;

  it('is used as it is, and never stopped', async () => {
    const used = await startDatabase({ flavour: 'mariadb', env: { INGESTER_MARIADB_URL: urlOf(server) } });
    assert.deepEqual([used.external, used.port, used.version], [true, server.port, server.version]);
    const refused = { code: 'LOCAL_DATABASE_EXTERNAL', message: /INGESTER_MARIADB_URL/ };
    for (const verb of ['stop', 'kill', 'start'] as const) await assert.rejects(used[verb](), refused);
    for (const verb of ['pause', 'resume'] as const) assert.throws(() => used[verb](), refused);
    await used.dispose();
    assert.equal((await query(used, 'SELECT 1 AS one'))[0]!['one'], 1);
  });

  it('never has its password in the command for a user', async () => {
    const used = await startDatabase({ flavour: 'mariadb', env: { INGESTER_MARIADB_URL: urlOf(server) } });
    assert.ok(!used.clientCommand('some').join(' ').includes(server.rootPassword));
  });

  it('is refused when it is the other flavour', async () => {
    await assert.rejects(startDatabase({ env: { INGESTER_MYSQL_URL: urlOf(server) } }), {
      code: 'LOCAL_DATABASE_URL',
      message: /needs mysql 8\.4 or newer/,
    });
  });

  it('is refused when its URL is not valid, without showing the URL', async () => {
    const url = 'root:secret@localhost';
    await assert.rejects(startDatabase({ env: { INGESTER_MYSQL_URL: url } }), (error: Error) => {
      assert.match(error.message, /must look like mysql:\/\/user:password@host:port/);
      assert.ok(!error.message.includes('secret'));
      return true;
    });
  });
});

describe('a system without Debian packages', () => {
  it('gets an error that says what to do instead', async () => {
    const { advice } = flavours.mysql;
    await assert.rejects(findDebianMirror(advice, { PATH: '' }), {
      code: 'LOCAL_NO_PACKAGES',
      message: /no working apt-get and dpkg-deb[^]*mysqld 8\.4 or newer on PATH, or set INGESTER_MYSQL_URL/,
    });
  });
});

describe('a cached folder', () => {
  const parent = temporaryFolder();
  const newPath = (): string => join(mkdtempSync(join(parent, 'cache-')), 'made');
  const preparation = { env: {}, progress: silent, signal: undefined };

  it('is made once by several processes that want it at the same time', async () => {
    const path = newPath();
    let made = 0;
    const fill = async (folder: string): Promise<void> => {
      made += 1;
      await new Promise((resolve) => setTimeout(resolve, 200));
      writeFileSync(join(folder, 'content'), String(made));
    };
    const want = () => cachedFolder({ path, what: 'it', fill }, preparation);
    assert.deepEqual(await Promise.all([want(), want(), want()]), [path, path, path]);
    assert.equal(made, 1);
    assert.equal(readFileSync(join(path, 'content'), 'utf8'), '1');
  });

  it('is not there at all when making it fails', async () => {
    const path = newPath();
    const fill = (folder: string): Promise<void> => {
      writeFileSync(join(folder, 'half'), '');
      return Promise.reject(new RangeError('out of luck'));
    };
    await assert.rejects(cachedFolder({ path, what: 'it', fill }, preparation), /out of luck/);
    assert.deepEqual(readdirSync(join(path, '..')), ['made.lock']);
  });

  it('can be made by the next when its maker is killed', async () => {
    const path = newPath();
    await killAfterFirstLine(`import { cachedFolder } from ${moduleText('../../hack/local/cached-folder.ts')};
      const fill = () => new Promise(() => { console.log('working'); setInterval(() => undefined, 1000); });
      const preparation = { env: {}, progress: () => undefined, signal: undefined };
      await cachedFolder({ path: ${JSON.stringify(path)}, what: 'it', fill }, preparation);`);
    await cachedFolder({ path, what: 'it', fill: () => Promise.resolve() }, preparation);
    await eventually(() => assert.deepEqual(readdirSync(join(path, '..')).sort(), ['made', 'made.lock']));
  });
});
