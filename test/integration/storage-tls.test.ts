import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { defaultKinds } from '../../src/api/kinds.ts';
import { systemClock } from '../../src/base/clock.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/mysql-storage.ts';
import type { TlsOptions } from '../../src/storage/mysql/pool.ts';
import { useDatabase } from '../support/databases.ts';

describe('TLS to MySQL', () => {
  const database = useDatabase('mysql');

  const problemWith = async (tls: TlsOptions): Promise<string | undefined> => {
    const storage = new MysqlMetadataStorage({ ...database().options, tls }, systemClock);
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
      t.skip('the server is somebody else’s; its authority is not at hand');
      return;
    }
    // What the server made for itself names no host.
    const ca = readFileSync(join(directory, 'data', 'ca.pem'), 'utf8');
    assert.match((await problemWith({ ca })) ?? '', /does not match certificate/);
  });
});
