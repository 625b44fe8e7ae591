import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lookAhead } from '../../../src/sync/startup/look-ahead.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { kindNamed } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const model = kindNamed('Model');

/** A watch at version 10 that gets on by what `ahead` says. */
async function looking(changes: () => string | undefined | Error, ahead: () => string = () => '10') {
  const [clock, logger, stop] = [new FakeClock(), new RecordingLogger(), new AbortController()];
  let looks = 0;
  const informer = {
    resourceVersion: '10',
    lookAhead: (): Promise<void> => {
      looks += 1;
      informer.resourceVersion = ahead();
      return Promise.resolve();
    },
  };
  const newestChanges = (): Promise<ReadonlyMap<string, string>> => {
    const version = changes();
    if (version instanceof Error) return Promise.reject(version);
    return Promise.resolve(new Map(version === undefined ? [] : [['Model', version]]));
  };
  const run = lookAhead([{ kind: model, informer }], { storage: { newestChanges }, clock, logger }, stop.signal);
  await clock.advance(10_000);
  stop.abort();
  await run;
  return { looks, clock };
}

describe('a replica that shares the kinds with others', () => {
  it('looks ahead where another has noted a newer change, until it is as far', async () => {
    assert.equal(
      (
        await looking(
          () => '11',
          () => '12',
        )
      ).looks,
      1,
    );
  });

  it('does not where it has seen that change, and where there is none', async () => {
    assert.equal((await looking(() => '10')).looks, 0);
    assert.equal((await looking(() => '9')).looks, 0);
    assert.equal((await looking(() => undefined)).looks, 0);
  });

  it('gives up after five looks for a change that is not reached, as after a restore of etcd, and looks for the next one', async () => {
    assert.equal((await looking(() => '99')).looks, 5);
    let second = 0;
    assert.equal((await looking(() => (second++ < 7 ? '99' : '98'))).looks, 9);
  });

  it('goes on after MySQL was away', async () => {
    let asked = 0;
    assert.equal(
      (
        await looking(
          () => (asked++ < 3 ? new Error('away') : '11'),
          () => '11',
        )
      ).looks,
      1,
    );
  });
});
