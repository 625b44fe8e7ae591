import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CachedAccessReviewer } from '../../../webhooks/cached-access.ts';
import type { AccessReviewer, Requester, Subject } from '../../../webhooks/ports.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const user: Requester = { username: 'alice', userUid: 'u', groups: ['a'], userExtra: {} };
const model: Subject = { group: 'g', version: 'v2', plural: 'models', namespace: 'ns', name: 'm' };
const { signal } = new AbortController();

class Answers implements AccessReviewer {
  calls = 0;
  answer: 'yes' | 'no' | 'unknown' = 'yes';

  mayDelete(): Promise<'yes' | 'no' | 'unknown'> {
    this.calls += 1;
    return Promise.resolve(this.answer);
  }
}

function setUp(): { answers: Answers; clock: FakeClock; cached: CachedAccessReviewer } {
  const [answers, clock] = [new Answers(), new FakeClock()];
  return { answers, clock, cached: new CachedAccessReviewer(answers, clock) };
}

describe('remembering access', () => {
  it('asks once for the same user and object, for ten seconds', async () => {
    const { answers, clock, cached } = setUp();
    assert.equal(await cached.mayDelete(user, model, signal), 'yes');
    answers.answer = 'no';
    await clock.advance(9999);
    assert.equal(await cached.mayDelete(user, model, signal), 'yes');
    assert.equal(answers.calls, 1);
    await clock.advance(1);
    assert.equal(await cached.mayDelete(user, model, signal), 'no');
    assert.equal(await cached.mayDelete(user, model, signal), 'no');
    assert.equal(answers.calls, 2);
  });

  it('never remembers that there was no answer', async () => {
    const { answers, cached } = setUp();
    answers.answer = 'unknown';
    assert.equal(await cached.mayDelete(user, model, signal), 'unknown');
    answers.answer = 'yes';
    assert.equal(await cached.mayDelete(user, model, signal), 'yes');
  });

  it('asks anew where anything that may change the answer differs', async () => {
    const { answers, cached } = setUp();
    const users: Requester[] = [
      user,
      { ...user, username: 'bob' },
      { ...user, userUid: 'v' },
      { ...user, groups: ['a', 'b'] },
      { ...user, userExtra: { scopes: ['x'] } },
    ];
    const objects: Subject[] = [
      { ...model, group: 'h' },
      { ...model, plural: 'projects' },
      { ...model, namespace: 'other' },
      { ...model, name: 'n' },
    ];
    for (const each of users) await cached.mayDelete(each, model, signal);
    for (const each of objects) await cached.mayDelete(user, each, signal);
    assert.equal(answers.calls, users.length + objects.length);
  });

  it('forgets the oldest beyond a thousand answers', async () => {
    const { answers, cached } = setUp();
    for (let index = 0; index <= 1000; index += 1) {
      await cached.mayDelete(user, { ...model, name: `m${index}` }, signal);
    }
    await cached.mayDelete(user, { ...model, name: 'm1000' }, signal);
    await cached.mayDelete(user, { ...model, name: 'm1' }, signal);
    assert.equal(answers.calls, 1001);
    await cached.mayDelete(user, { ...model, name: 'm0' }, signal);
    assert.equal(answers.calls, 1002);
  });
});
