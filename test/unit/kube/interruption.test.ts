import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import { type Fixture, run } from './reflector-fixture.ts';
import { changed, listed } from './scripted-client.ts';

const initializing = new KubeError('TooManyRequests', 'storage is (re)initializing');
const unreadable = new KubeError('Unavailable', "Object 'Kind' is missing in '{}'");

/** What each watch does in turn, and long after the last script is used up. */
async function failing(error: KubeError, lists: Parameters<typeof run>[0] = []): Promise<Fixture> {
  return run(
    [listed('1'), ...lists],
    Array.from({ length: 40 }, () => [error]),
  );
}

describe('a reflector whose lists and watches fail', () => {
  it('says since when and why, and is told by the watchdog within a minute', async () => {
    const fixture = await failing(initializing);
    const since = fixture.clock.now();
    await fixture.clock.advance(40_000);
    assert.deepEqual(fixture.reflector.interruption, { since, reason: initializing.message });
    const early = fixture.watchdog.problem;
    await fixture.clock.advance(20_000);
    assert.equal(early, undefined);
    assert.match(fixture.watchdog.problem ?? '', /^watch models has made no progress for \d+ s$/);
    const [told] = fixture.logger.lines.filter(
      ({ level, message }) => level === 'error' && message.startsWith('Lists and'),
    );
    assert.equal(told?.['reason'], initializing.message);
    await fixture.end();
  });

  it('is not over, and is told once, where lists succeed, which is what a missing right to watch leaves', async () => {
    const forbidden = new KubeError('Forbidden', 'cannot watch');
    const fixture = await failing(forbidden);
    const since = fixture.clock.now();
    await fixture.clock.advance(120_000);
    assert.ok(fixture.client.calls.filter((call) => call === 'list').length > 3);
    assert.deepEqual(fixture.reflector.interruption, { since, reason: 'cannot watch' });
    assert.match(fixture.watchdog.problem ?? '', /^watch models has made no progress for \d+ s$/);
    assert.equal(fixture.logger.lines.filter(({ level }) => level === 'error').length, 2, 'it is told once');
    await fixture.end();
  });

  it('is over with an event', async () => {
    const fixture = await run([listed('1')], [[unreadable], [unreadable], [changed('a', '2'), 'wait']]);
    await fixture.clock.advance(800);
    assert.notEqual(fixture.reflector.interruption, undefined);
    await fixture.clock.advance(2000);
    assert.equal(fixture.reflector.interruption, undefined);
    await fixture.end();
  });

  it('is over with a watch that stands, and the watchdog takes back what it told', async () => {
    const scripts = Array.from({ length: 14 }, () => [unreadable]);
    const fixture = await run([listed('1')], [...scripts, ['wait']]);
    await fixture.clock.advance(55_000);
    assert.notEqual(fixture.watchdog.problem, undefined);
    await fixture.clock.advance(20_000);
    assert.equal(fixture.reflector.interruption, undefined);
    assert.equal(fixture.watchdog.problem, undefined);
    await fixture.end();
  });

  it('is not over with a watch that the API server takes and ends with an error', async () => {
    const fixture = await run(
      [listed('1')],
      Array.from({ length: 40 }, () => ['taken' as const, unreadable]),
    );
    const since = fixture.clock.now();
    await fixture.clock.advance(60_000);
    assert.deepEqual(fixture.reflector.interruption?.since, since);
    assert.notEqual(fixture.watchdog.problem, undefined);
    await fixture.end();
  });

  it('counts the silence of a watch before lists fail', async () => {
    const fixture = await run([listed('1'), ...Array.from({ length: 40 }, () => unreadable)], [['wait']]);
    const since = fixture.clock.now();
    await fixture.clock.advance(150_000);
    assert.deepEqual(fixture.reflector.interruption, { since, reason: unreadable.message });
    assert.notEqual(fixture.watchdog.problem, undefined);
    const told = fixture.logger.lines.filter(
      ({ level, message }) => level === 'error' && message.startsWith('Lists and'),
    );
    assert.equal(told.length, 1);
    await fixture.end();
  });

  it('is none where the definition is not installed, or a watch ends as it should', async () => {
    const missing = new KubeError('NotFound', 'no such resource');
    const fixture = await run([missing, missing, listed('1')], [[changed('a', '2')], ['wait']]);
    await fixture.clock.advance(3000);
    assert.equal(fixture.reflector.interruption, undefined);
    await fixture.end();
  });
});
