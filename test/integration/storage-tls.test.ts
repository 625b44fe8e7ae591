import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createAuthority } from '../../hack/local/certificates.ts';
import { systemClock } from '../../src/base/clock.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import type { TlsOptions } from '../../src/storage/mysql/access.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { useDatabase } from '../support/databases.ts';

describe('TLS to MySQL', () => {
  const database = useDatabase('mysql');

  const problemWith = async (tls: TlsOptions | undefined): Promise<string | undefined> => {
    const options = { ...database().options, host: 'localhost', ...(tls === undefined ? {} : { tls }) };
    const storage = new MysqlMetadataStorage(options, systemClock);
    const problem = await storage.check(defaultKinds).then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    );
    await storage.close();
    return problem;
  };

  it('refuses a server whose authority is not trusted', async () => {
    assert.match((await problemWith({})) ?? '', /self-signed certificate/);
  });

  it('refuses a trusted certificate of another host', async (t) => {
    const { directory } = database().server;
    if (directory === undefined) {
      t.skip('the server is external; its authority is not at hand');
      return;
    }
    // What the server made for itself names no host.
    const ca = readFileSync(join(directory, 'data', 'ca.pem'), 'utf8');
    assert.match((await problemWith({ ca })) ?? '', /does not match certificate/);
  });

  it('accepts a certificate of a trusted authority that names the host, and encrypts', async (t) => {
    const { directory } = database().server;
    if (directory === undefined) {
      t.skip('the server is external; it cannot be given a certificate');
      return;
    }
    const authority = await createAuthority('mysql-ca');
    const serve = async (...hosts: readonly string[]): Promise<void> => {
      const { certificatePem, keyPem } = await authority.issue({ commonName: 'mysql', hosts });
      const folder = mkdtempSync(join(directory, 'tls-'));
      const files = { ssl_ca: authority.caPem, ssl_cert: certificatePem, ssl_key: keyPem };
      for (const [variable, content] of Object.entries(files)) {
        writeFileSync(join(folder, variable), content);
        await database().database.query(`SET GLOBAL ${variable} = '${join(folder, variable)}'`);
      }
      await database().database.query('ALTER INSTANCE RELOAD TLS');
    };
    const tls = { ca: authority.caPem };
    await serve('localhost');
    assert.equal(await problemWith(tls), undefined);
    await serve('elsewhere.example');
    assert.match((await problemWith(tls)) ?? '', /does not match certificate/);
    await serve('localhost');
    const { writer } = database().database;
    // Now the server takes this account over TLS only, so what works is encrypted.
    await database().database.query(`ALTER USER '${writer.user}'@'%' REQUIRE SSL`);
    assert.match((await problemWith(undefined)) ?? '', /ER_ACCESS_DENIED_ERROR/);
    assert.equal(await problemWith(tls), undefined);
  });
});
