import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import type { ServerHistory } from '../../../src/storage/mysql/server-history.ts';
import type { StorageHistoryStatus } from '../../../src/sync/status/status.ts';
import { StorageHistory, storageWentBackAt } from '../../../src/sync/status/storage-history.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aModel } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

/** A server that knows some numbers; what is asked for is a list of numbers. */
function setUp(remembered?: StorageHistoryStatus) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const server = { name: 'first', known: ['1'], committed: [] as string[], down: false, weak: [] as string[] };
  const replicated = { as: 'waits' as ServerHistory['replication'] };
  let lost = 0;
  const weak: (readonly string[])[] = [];
  const history = new StorageHistory({
    storage: {
      takeCommitted: () => server.committed.splice(0).join(','),
      serverHistory: (seen): Promise<ServerHistory> => {
        if (server.down) return Promise.reject(new Error('down'));
        const missing = seen.split(',').filter((each) => each !== '' && !server.known.includes(each));
        const { name: named, known, weak } = server;
        const history = { server: named, known: known.join(','), missing: missing.join(','), weak };
        return Promise.resolve({ ...history, replication: replicated.as });
      },
    },
    remembered: () => Promise.resolve(remembered),
    onLost: () => (lost += 1),
    onWeak: (settings) => weak.push(settings),
    ...{ clock, logger },
  });
  const stop = new AbortController();
  const running = history.run(stop.signal);
  const pass = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 5) await clock.advance(5000);
  };
  const end = async () => {
    stop.abort();
    await running;
  };
  return { server, replicated, history, logger, lost: () => lost, weak, pass, end };
}

describe('StorageHistory', () => {
  it('reports once which confirmed writes are gone, with the servers, and goes on from there', async () => {
    const { server, history, logger, lost, pass, end } = setUp();
    await pass(5);
    server.committed.push('2');
    server.known = ['1'];
    server.name = 'second';
    await pass(60);
    assert.equal(lost(), 1);
    const { wentBack, seen } = history.status ?? {};
    assert.deepEqual([wentBack?.from, wentBack?.to, wentBack?.missing, seen], ['first', 'second', '2', '1']);
    assert.match(logger.messages().join('\n'), /ingester audit --repair/);
    await end();
  });

  it('says nothing of a server that only lags', async () => {
    const { server, lost, pass, end } = setUp();
    await pass(5);
    server.committed.push('2');
    await pass(20);
    server.known = ['1', '2'];
    await pass(60);
    assert.equal(lost(), 0);
    await end();
  });

  it('remembers over an outage, and from the process before, which writes were confirmed', async () => {
    const outage = setUp();
    outage.server.down = true;
    outage.server.committed.push('2');
    await outage.pass(60);
    outage.server.down = false;
    await outage.pass(60);
    assert.equal(outage.lost(), 1);
    await outage.end();
    const before = setUp({ server: 'before', seen: '1,7' });
    await before.pass(60);
    assert.deepEqual([before.lost(), before.history.status?.wentBack?.missing], [1, '7']);
    await before.end();
  });

  it('names the server of before also where the other one had no GTIDs at first', async () => {
    const { server, history, lost, pass, end } = setUp({ server: 'before', seen: '1,7' });
    Object.assign(server, { name: 'empty', known: [] });
    await pass(60);
    assert.equal(lost(), 0);
    server.known = ['9'];
    await pass(60);
    assert.deepEqual([lost(), history.status?.wentBack?.from, history.status?.wentBack?.to], [1, 'before', 'empty']);
    await end();
  });

  for (const [which, known] of [
    ['', ['1']],
    [' that has no GTIDs', []],
  ] as const) {
    it(`warns once of a server${which} whose settings lose what it confirmed, and shows them until they are set`, async () => {
      const { server, history, logger, weak, pass, end } = setUp();
      server.known = [...known];
      server.weak = ['sync_binlog=0'];
      await pass(60);
      assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
      assert.deepEqual([weak.at(-1), history.status?.weak], [['sync_binlog=0'], ['sync_binlog=0']]);
      server.weak = [];
      await pass(10);
      assert.deepEqual([weak.at(-1), history.status?.weak], [[], []]);
      await end();
    });
  }

  it('warns of a server that confirms alone only once another server answers than before, for seven days', async () => {
    const { server, replicated, history, weak, pass, end } = setUp();
    replicated.as = 'alone';
    await pass(60);
    assert.deepEqual(weak.at(-1), []);
    server.name = 'second';
    await pass(10);
    assert.deepEqual(weak.at(-1), ['rpl_semi_sync_source_enabled=OFF']);
    replicated.as = 'waits';
    await pass(10);
    assert.deepEqual([weak.at(-1), history.status?.weak], [[], []]);
    await end();
    const failedOverAt = (days: number): string =>
      new Date(new FakeClock().now().getTime() - days * 86_400_000).toISOString();
    for (const [days, expected] of [
      [6, ['rpl_semi_sync_source_enabled=OFF']],
      [8, []],
    ] as const) {
      const later = setUp({ server: 'first', seen: '1', failedOverAt: failedOverAt(days) });
      later.replicated.as = 'alone';
      await later.pass(10);
      assert.deepEqual(later.weak.at(-1), expected, `${days} days`);
      await later.end();
    }
  });

  it('warns of semi-synchronous replication that has fallen back, failover or not, and claims nothing of what it cannot read', async () => {
    const { server, replicated, weak, pass, end } = setUp();
    replicated.as = 'fell-back';
    await pass(10);
    assert.deepEqual(weak.at(-1), ['rpl_semi_sync_source_status=OFF']);
    replicated.as = 'unknown';
    server.name = 'second';
    await pass(10);
    assert.deepEqual(weak.at(-1), []);
    await end();
  });
});

describe('the time at which MySQL went back', () => {
  const clock = new FakeClock();
  const lost = { at: '2025-12-31T00:00:00.000Z', from: 'first', to: 'second', missing: '2' };
  const wentBackAt = (remembered: object | undefined, missing: string) => {
    const client = new FakeApiServer();
    client.mergePatch = () => {
      if (remembered === undefined) return Promise.reject(new KubeError('NotFound', 'there is no ConfigMap'));
      const data = { 'storage-history.json': JSON.stringify(remembered) };
      return Promise.resolve({ ...aModel({}), data });
    };
    const answer = { server: 'second', known: '1', missing, weak: [], replication: 'alone' } as const;
    return storageWentBackAt({ client, clock, storage: { serverHistory: () => Promise.resolve(answer) } }, 'system');
  };

  it('is now where it lacks what is remembered, and that of the loss for a week after it was told', async () => {
    assert.deepEqual(await wentBackAt({ server: 'first', seen: '1,2' }, '2'), clock.now());
    assert.deepEqual(await wentBackAt({ server: 'second', seen: '1', wentBack: lost }, ''), new Date(lost.at));
    const old = { ...lost, at: '2025-12-20T00:00:00.000Z' };
    assert.equal(await wentBackAt({ server: 'second', seen: '1', wentBack: old }, ''), undefined);
  });

  it('is none where nothing is remembered, also because the ConfigMap was deleted', async () => {
    assert.equal(await wentBackAt({ server: 'first', seen: '1' }, ''), undefined);
    assert.equal(await wentBackAt(undefined, ''), undefined);
  });
});
