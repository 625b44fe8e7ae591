import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { ContinuousAudit } from '../../../src/sync/audit/continuous-audit.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const HOUR = 3_600_000;

function setUp(options: { readonly periodMs?: number } = {}) {
  const api = new FakeApiServer();
  api.install('models');
  const models = api.of('models');
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const audited: Readonly<Record<string, number>>[] = [];
  const state = { ready: true, mayRepair: true };
  const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
  const common = { kind: modelKind, resource, client: api, storage, clock, encode: encodeObject };
  const metrics = {
    audited: (found: Readonly<Record<string, number>>) => audited.push(found),
    missedDeletes: () => undefined,
  };
  const audit = new ContinuousAudit({
    targets: [
      {
        options: {
          ...common,
          kinds: [common],
          limits: { maxPercent: 10 },
          storageWentBackAt: () => Promise.resolve(undefined),
        },
        metrics,
        isReady: () => state.ready,
      },
    ],
    periodMs: options.periodMs ?? HOUR,
    mayRepair: () => state.mayRepair,
    clock,
    logger,
  });
  const stop = new AbortController();
  const running = audit.run(stop.signal);
  /** Lets time pass as it does for a process: in steps, so that each wait begins when it begins. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10_000) await clock.advance(10_000);
  };
  const end = async () => {
    stop.abort();
    await running;
  };
  return { models, storage, clock, logger, audited, state, pass, end };
}

describe('ContinuousAudit', () => {
  it('looks soon after the start and then every period, and reports zeros where all is well', async () => {
    const { audited, pass, end } = setUp();
    await pass(70_000);
    assert.deepEqual(audited, [{ missing: 0, stale: 0, ahead: 0, extra: 0, unguarded: 0, unreadable: 0 }]);
    await pass(HOUR);
    assert.equal(audited.length, 2);
    await end();
  });

  it('repairs differences that need no decision and says so; the ones left are in the metric', async () => {
    const { models, storage, audited, logger, pass, end } = setUp();
    models.put(aModel());
    models.put(aModel({ name: 'ahead', uid: 'ahead' }));
    await storage.upsert(aModelRow({ name: 'ahead', uid: 'ahead', resourceVersion: '99' }));
    await pass(90_000);
    assert.equal((await storage.getById(modelKind, aModel().metadata.uid))?.state, 'live');
    assert.equal((await storage.getById(modelKind, 'ahead'))?.resourceVersion, '99');
    assert.deepEqual([audited[0]?.['missing'], audited[0]?.['ahead']], [0, 1]);
    assert.deepEqual(logger.lines.map(({ finding, outcome }) => `${String(finding)} ${String(outcome)}`).sort(), [
      'ahead not-asked',
      'missing repaired',
    ]);
    await end();
  });

  it('takes no outage for a finding, and looks again in the next period', async () => {
    const { models, audited, logger, pass, end } = setUp();
    models.failures.push({ call: 'list', error: new KubeError('Unavailable', 'down') });
    await pass(90_000);
    assert.deepEqual(audited, []);
    assert.match(logger.messages().join(), /could not compare/);
    await pass(HOUR);
    assert.equal(audited.length, 1);
    await end();
  });

  it('compares nothing during an uninstall, before the first list, or where it is switched off', async () => {
    for (const change of [{ mayRepair: false }, { ready: false }]) {
      const { state, audited, pass, end } = setUp();
      Object.assign(state, change);
      await pass(90_000);
      assert.deepEqual(audited, []);
      await end();
    }
    const { audited, pass, end } = setUp({ periodMs: 0 });
    await pass(2 * HOUR);
    assert.deepEqual(audited, []);
    await end();
  });
});
