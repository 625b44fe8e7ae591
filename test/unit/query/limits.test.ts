import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import request from 'supertest';
import { RateLimits } from '../../../src/base/rate-limits.ts';
import { RequestTime } from '../../../src/query/request-time.ts';
import { queryFieldNames } from '../../../src/storage/fields.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { modelKind } from '../../support/objects.ts';
import { base, fill, messageIn, queryApp } from '../../support/query-app.ts';

const never = new Promise<never>(() => undefined);

describe('the limit of a user', () => {
  it('lets a burst through, then as many as the rate allows', async () => {
    const clock = new FakeClock();
    const limits = new RateLimits({ clock, perSecond: 2, burst: 3 });
    assert.deepEqual(
      [1, 2, 3, 4].map(() => limits.take('alice')),
      [undefined, undefined, undefined, 0.5],
    );
    assert.equal(limits.take('bob'), undefined, 'another user has a bucket of his own');
    await clock.advance(500);
    assert.deepEqual([limits.take('alice'), limits.take('alice')], [undefined, 0.5]);
    limits.giveBack('alice');
    assert.equal(limits.take('alice'), undefined, 'what was given back can be taken again');
  });

  it('is no limit at rate 0', () => {
    const limits = new RateLimits({ clock: new FakeClock(), perSecond: 0, burst: 1 });
    assert.deepEqual(
      [1, 2, 3].map(() => limits.take('alice')),
      [undefined, undefined, undefined],
    );
  });

  it('answers 429 with Retry-After', async () => {
    const { get } = queryApp({ limits: { userPerSecond: 1, userBurst: 1 } });
    assert.equal((await get('/models')).status, 200);
    const { status, headers, body } = await get('/models');
    assert.deepEqual([status, headers['retry-after']], [429, '1']);
    assert.match(messageIn(body), /"alice" asks too often/);
  });
});

describe('discovery', () => {
  it('is answered whatever the limits say, because namespaces are not deleted without it', async () => {
    const { app, get } = queryApp({ limits: { maxInFlight: 0, userPerSecond: 1, userBurst: 1 } });
    assert.equal((await get('/models')).status, 429);
    for (const path of ['/apis', '/apis/stored.michelangelo.api', base, '/openapi/v2', '/version']) {
      assert.equal((await request(app).get(path)).status, 200, path);
    }
  });
});

describe('the time of a request', () => {
  const aResponse = () => new ServerResponse(new IncomingMessage(new Socket()));
  const limits = { firstMs: 1000, wholeMs: 5000 };

  it('ends a wait for the first byte', async () => {
    const clock = new FakeClock();
    const time = new RequestTime(clock, limits, aResponse());
    const waiting = assert.rejects(time.within(never), /took longer than 1 s/);
    await clock.advance(1000);
    await waiting;
  });

  it('goes on while an answer is written, and ends that too', async () => {
    const clock = new FakeClock();
    const time = new RequestTime(clock, limits, aResponse());
    time.begun();
    await clock.advance(4999);
    assert.equal(await time.within(Promise.resolve('page')), 'page');
    const waiting = assert.rejects(time.within(never), /the whole answer took longer than 5 s/);
    await clock.advance(1);
    await waiting;
  });

  it('ends when the reader goes, and leaves no timer', async () => {
    const clock = new FakeClock();
    const response = aResponse();
    const time = new RequestTime(clock, limits, response);
    response.emit('close');
    await assert.rejects(time.within(never), { name: 'AbortError' });
    assert.equal(clock.pending, 0);
  });

  it('answers 504 where the database takes too long', async () => {
    const { storage, clock, get } = queryApp();
    const asked = Promise.withResolvers<undefined>();
    storage.list = () => {
      asked.resolve(undefined);
      return never;
    };
    const answer = get('/models');
    await asked.promise;
    await clock.advance(1000);
    assert.equal((await answer).status, 504);
  });
});

describe('the freshness of an answer', () => {
  it('is in the headers of the answer: the position and the lag', async () => {
    const { storage, clock, get } = queryApp();
    await fill(storage);
    await storage.recordPosition(modelKind, { resourceVersion: '50', at: new Date(clock.now().getTime() - 2500) });
    for (const path of [
      '/models',
      '/namespaces/a/models/m1',
      '/namespaces/a/models/m1/incarnations',
      '/models/-/changes',
    ]) {
      const { headers } = await get(path);
      assert.deepEqual([headers['ingester-position'], headers['ingester-lag-seconds']], ['50', '2.5'], path);
      assert.equal(headers['warning'], undefined);
    }
    assert.equal(
      (await get('/namespaces/a/models/none')).headers['ingester-position'],
      '50',
      'also when nothing is found',
    );
  });

  it('is a warning where the store is far behind, or its lag is unknown', async () => {
    const { storage, clock, get } = queryApp();
    assert.match((await get('/models')).headers['warning'] ?? '', /^299 - ".*no reconciler has run"$/);
    await storage.recordPosition(modelKind, { resourceVersion: '50', at: clock.now() });
    await clock.advance(61_000);
    assert.match((await get('/models')).headers['warning'] ?? '', /last known to be complete 61 s ago/);
  });

  it('waits for a version, and says how far the store is when the time is over', async () => {
    const { storage, clock, get } = queryApp();
    await storage.recordPosition(modelKind, { resourceVersion: '50', at: clock.now() });
    const answer = get('/models?minResourceVersion=51');
    const turning = setInterval(() => void clock.advance(200), 1);
    await answer.finally(() => clearInterval(turning));
    const { status, body, headers } = await answer;
    assert.deepEqual([status, headers['retry-after']], [504, '1']);
    assert.match(messageIn(body), /has reached resourceVersion 50, not 51 yet/);
  });
});

describe('the summary', () => {
  it('counts every kind by where its objects are', async () => {
    const { storage, clock, get } = queryApp();
    await fill(storage);
    await storage.recordPosition(modelKind, { resourceVersion: '50', at: clock.now() });
    const { items } = (await get('/summary')).body as { readonly items: readonly { readonly kind: string }[] };
    assert.equal(items.length, 13);
    assert.deepEqual(
      items.find(({ kind }) => kind === 'Model'),
      {
        kind: 'Model',
        plural: 'models',
        fields: [...queryFieldNames(modelKind)],
        counts: { live: 2, evicted: 1, deleted: 1 },
        resourceVersion: '50',
        lagSeconds: 0,
      },
    );
  });

  it('counts only the namespaces of the user, and is refused to a user who has none', async () => {
    const { storage, get } = queryApp({ allowed: ['a'] });
    await fill(storage);
    const { items } = (await get('/summary')).body as { readonly items: readonly object[] };
    assert.deepEqual(items[2], {
      kind: 'Model',
      plural: 'models',
      fields: [...queryFieldNames(modelKind)],
      counts: { live: 1, evicted: 1, deleted: 0 },
      namespaces: ['a'],
    });
    assert.equal((await queryApp({ allowed: [] }).get('/summary')).status, 403);
  });
});
