import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DemoMysql } from '../../../hack/demo/demo-cluster.ts';
import { mysqlKey } from '../../../hack/demo/mysql-key.ts';
import type { Narrator } from '../../../hack/demo/narrator.ts';

function mysqlAndKey() {
  const done: string[] = [];
  const server = {
    running: true,
    stop: () => turn('stop', false),
    start: () => turn('start', true),
  };
  const turn = (what: string, running: boolean): Promise<void> => {
    done.push(what);
    server.running = running;
    return Promise.resolve();
  };
  const narrator = { passing: () => undefined, say: (text: string) => done.push(text) };
  const key = mysqlKey(server as unknown as DemoMysql, narrator as unknown as Narrator);
  return { key, told: () => done.join(' ') };
}

describe('the key for MySQL', () => {
  it('stops MySQL and says what to look at, then starts it', async () => {
    const { key, told } = mysqlAndKey();
    await key();
    assert.match(told(), /^stop MySQL is stopped\..*Press m to start MySQL again\.$/);
    await key();
    assert.match(told(), / start MySQL is started again/);
  });

  it('counts for nothing while MySQL is being stopped', async () => {
    const { key, told } = mysqlAndKey();
    await Promise.all([key(), key()]);
    assert.doesNotMatch(told(), /start MySQL is started/);
  });
});
