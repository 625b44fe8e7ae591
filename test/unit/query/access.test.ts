import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { after, describe, it } from 'node:test';
import { valueAt } from '../../../src/base/json.ts';
import { defaultKinds } from '../../../src/kinds/kinds.ts';
import type { KubeClient, Resource } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { Authenticator } from '../../../src/query/authenticate.ts';
import { Authorizer } from '../../../src/query/authorize.ts';
import type { User } from '../../../src/query/context.ts';
import { Questions } from '../../../src/query/questions.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModelRow, modelKind } from '../../support/objects.ts';

/** Answers reviews by a function. */
class ReviewClient {
  readonly reviews: unknown[] = [];
  answer: (spec: unknown) => unknown = () => ({});

  create(_resource: Resource, _namespace: string, object: object): Promise<unknown> {
    const spec = valueAt(object, ['spec']);
    this.reviews.push(spec);
    return Promise.resolve({ status: this.answer(spec) });
  }

  asClient(): KubeClient {
    return this as unknown as KubeClient;
  }
}

const waiting = new AbortController().signal;
const alice: User = { name: 'alice', uid: '', groups: ['team-a'], extra: {} };

function request(headers: Readonly<Record<string, string>>): IncomingMessage {
  return { headers, headersDistinct: {}, socket: {} } as unknown as IncomingMessage;
}

describe('a bearer token', () => {
  const setUp = () => {
    const client = new ReviewClient();
    const clock = new FakeClock();
    return {
      client,
      clock,
      authenticator: new Authenticator({
        questions: new Questions({ client: client.asClient(), clock }),
        clock,
        frontProxy: () => undefined,
      }),
    };
  };
  const bearer = request({ authorization: 'Bearer good' });

  it('is confirmed by the API server, once for ten seconds', async () => {
    const { client, clock, authenticator } = setUp();
    client.answer = () => ({ authenticated: true, user: { username: 'alice', groups: ['team-a'] } });
    assert.deepEqual(await authenticator.authenticate(bearer, waiting), alice);
    await authenticator.authenticate(bearer, waiting);
    assert.deepEqual(client.reviews, [{ token: 'good' }]);
    await clock.advance(10_000);
    await authenticator.authenticate(bearer, waiting);
    assert.equal(client.reviews.length, 2);
  });

  it('is refused where the API server does not know it', async () => {
    const { client, authenticator } = setUp();
    client.answer = () => ({ authenticated: false, user: { username: 'alice' } });
    await assert.rejects(authenticator.authenticate(bearer, waiting), { reason: 'Unauthorized' });
  });

  it('is asked about again after the API server was away', async () => {
    const { client, authenticator } = setUp();
    client.answer = () => {
      throw new KubeError('Unavailable', 'away');
    };
    await assert.rejects(authenticator.authenticate(bearer, waiting), { code: 'KUBE_UNAVAILABLE' });
    client.answer = () => ({ authenticated: true, user: { username: 'alice' } });
    assert.equal((await authenticator.authenticate(bearer, waiting)).name, 'alice');
  });

  it('costs no question after so many invented tokens from one address', async () => {
    const { client, clock, authenticator } = setUp();
    client.answer = () => ({ authenticated: false });
    const guess = (token: string) => authenticator.authenticate(request({ authorization: `Bearer ${token}` }), waiting);
    for (let count = 0; count < 64; count += 1) {
      await assert.rejects(guess(`guess-${count}`), { reason: 'Unauthorized' });
    }
    await assert.rejects(guess('guess-64'), { reason: 'TooManyRequests' });
    await assert.rejects(guess('guess-63'), { reason: 'Unauthorized' });
    assert.equal(client.reviews.length, 64, 'one that was refused is not asked about again');
    await clock.advance(250);
    await assert.rejects(guess('guess-64'), { reason: 'Unauthorized' });
  });

  it('that is good stays good while others are guessed, and its next review waits for none of them', async () => {
    const { client, clock, authenticator } = setUp();
    client.answer = () => ({ authenticated: true, user: { username: 'alice' } });
    await authenticator.authenticate(bearer, waiting);
    client.answer = () => ({ authenticated: false });
    const guesses = Array.from({ length: 5000 }, (_, count) =>
      authenticator.authenticate(request({ authorization: `Bearer ${count}` }), waiting),
    );
    assert.ok((await Promise.allSettled(guesses)).every(({ status }) => status === 'rejected'));
    assert.equal((await authenticator.authenticate(bearer, waiting)).name, 'alice', 'it was kept');
    await clock.advance(10_000);
    client.answer = () => ({ authenticated: true, user: { username: 'alice' } });
    assert.equal((await authenticator.authenticate(bearer, waiting)).name, 'alice', 'it is asked about again');
  });

  it('is needed: a request without one is refused', async () => {
    await assert.rejects(setUp().authenticator.authenticate(request({}), waiting), { reason: 'Unauthorized' });
  });

  it('does not let its owner act as another user', async () => {
    const impersonating = request({ authorization: 'Bearer good', 'impersonate-user': 'root' });
    await assert.rejects(setUp().authenticator.authenticate(impersonating, waiting), { reason: 'Forbidden' });
  });
});

describe('access to stored objects', () => {
  const setUp = (allowed: (attributes: Readonly<Record<string, string>>) => boolean) => {
    const client = new ReviewClient();
    client.answer = (spec) => ({
      allowed: allowed(valueAt(spec, ['resourceAttributes']) as Readonly<Record<string, string>>),
    });
    const clock = new FakeClock();
    const storage = new MemoryStorage();
    // The rate of questions has waits of its own.
    const turning = setInterval(() => void clock.advance(5), 1).unref();
    after(() => clearInterval(turning));
    const questions = new Questions({ client: client.asClient(), clock });
    const store = async (namespace: string, kind = modelKind): Promise<void> => {
      await storage.upsert({ ...aModelRow({ uid: `${kind.kind}-${namespace}`, name: 'one', namespace }), kind });
    };
    return { client, clock, store, authorizer: new Authorizer({ questions, storage, clock }) };
  };
  const getModel = { verb: 'get', kind: modelKind, namespace: 'ml', name: 'm1' } as const;

  it('is decided on the original kind, for the user as a whole', async () => {
    const { client, authorizer } = setUp(() => true);
    await authorizer.require({ ...alice, extra: { scope: ['read'] } }, getModel, waiting);
    assert.deepEqual(client.reviews, [
      {
        user: 'alice',
        uid: '',
        groups: ['team-a'],
        extra: { scope: ['read'] },
        resourceAttributes: {
          group: 'michelangelo.api',
          version: 'v2',
          resource: 'models',
          verb: 'get',
          namespace: 'ml',
          name: 'm1',
        },
      },
    ]);
  });

  it('is refused in the words of the API server', async () => {
    const { authorizer } = setUp(() => false);
    await assert.rejects(authorizer.require(alice, getModel, waiting), {
      reason: 'Forbidden',
      message:
        'models.michelangelo.api "m1" is forbidden: User "alice" cannot get resource "models" in API group "michelangelo.api" in the namespace "ml"',
    });
  });

  it('is not shared between users of the same name in other groups', async () => {
    const { client, authorizer } = setUp(() => true);
    await authorizer.require(alice, getModel, waiting);
    await authorizer.require({ ...alice, groups: [] }, getModel, waiting);
    await authorizer.require(alice, getModel, waiting);
    assert.equal(client.reviews.length, 2);
  });

  it('covers every namespace for a user who may list them all', async () => {
    const { authorizer } = setUp(({ namespace }) => namespace === undefined);
    assert.equal(await authorizer.listableNamespaces(alice, modelKind, waiting), undefined);
  });

  it('covers the namespaces that may be listed one by one for any other user', async () => {
    const { store, authorizer } = setUp(({ namespace }) => namespace === 'a' || namespace === 'c');
    for (const namespace of ['c', 'b', 'a']) await store(namespace);
    assert.deepEqual(await authorizer.listableNamespaces(alice, modelKind, waiting), ['a', 'c']);
  });

  it('is refused, not empty, for a user who may list nothing', async () => {
    const { store, authorizer } = setUp(() => false);
    await store('a');
    await assert.rejects(authorizer.listableNamespaces(alice, modelKind, waiting), { reason: 'Forbidden' });
  });

  it('is asked about no namespace in which nothing is stored, and about none where there are too many', async () => {
    const { client, store, authorizer } = setUp(({ namespace }) => namespace !== undefined);
    for (let index = 0; index < 1000; index += 1) await store(`n-${index}`);
    const among = authorizer.listableNamespaces(alice, modelKind, waiting);
    assert.equal((await among)?.length, 1000);
    assert.equal(client.reviews.length, 1001);
    const more = setUp(() => false);
    for (let index = 0; index < 1001; index += 1) await more.store(`n-${index}`);
    await assert.rejects(more.authorizer.listableNamespaces(alice, modelKind, waiting), {
      reason: 'Forbidden',
      message: /more than 1000 namespaces/,
    });
    assert.equal(more.client.reviews.length, 1, 'bounded before it is asked');
  });

  it('is not access to events: that is asked about in their group', async () => {
    const { client, authorizer } = setUp(({ resource }) => resource !== 'events');
    await assert.rejects(authorizer.requireEvents(alice, 'ml', waiting), {
      reason: 'Forbidden',
      message: 'events is forbidden: User "alice" cannot list resource "events" in API group "" in the namespace "ml"',
    });
    const { group, verb, namespace } = valueAt(client.reviews[0], ['resourceAttributes']) as Record<string, unknown>;
    assert.deepEqual([group, verb, namespace], ['', 'list', 'ml']);
    const everything = setUp(() => true);
    await everything.authorizer.requireEvents(alice, 'ml', waiting);
  });

  it('is asked about what an item is of, and once about all of it where that is enough', async () => {
    const items = [
      { kind: modelKind, namespace: 'mine', name: 'one' },
      { kind: modelKind, namespace: 'mine', name: 'two' },
      { kind: modelKind, namespace: 'other', name: 'three' },
      { kind: modelKind, namespace: undefined, name: 'of every namespace' },
    ];
    const everything = setUp(() => true);
    assert.deepEqual(await everything.authorizer.listableAmong(alice, items, waiting), items);
    assert.equal(everything.client.reviews.length, 1);
    const { client, authorizer } = setUp(({ namespace }) => namespace === 'mine');
    assert.deepEqual(await authorizer.listableAmong(alice, items, waiting), items.slice(0, 2));
    assert.equal(client.reviews.length, 4, 'two for every namespace, one for each namespace');
  });

  it('to all kinds takes one question where the user may list all of them', async () => {
    const everything = setUp(() => true);
    const { kinds } = await everything.authorizer.listable(alice, defaultKinds, waiting);
    assert.deepEqual([...new Set(kinds.values())], ['all']);
    assert.equal(everything.client.reviews.length, 1);
    const { client, store, authorizer } = setUp(({ namespace, resource }) => namespace === 'mine' && resource === '*');
    for (const namespace of ['mine', 'other']) for (const kind of defaultKinds) await store(namespace, kind);
    const listable = await authorizer.listable(alice, defaultKinds, waiting);
    assert.deepEqual([...listable.kinds.values()], Array(defaultKinds.length).fill(['mine']));
    assert.equal(listable.leftOut, 0);
    assert.equal(client.reviews.length, 1 + defaultKinds.length + 1 + 1 + defaultKinds.length);
  });

  it('to all kinds costs 1024 questions at most, and counts the namespaces left out', async () => {
    const { client, store, authorizer } = setUp(
      ({ namespace, resource }) => namespace !== undefined && resource !== '*',
    );
    for (let index = 0; index < 100; index += 1) {
      for (const kind of defaultKinds) await store(`n-${String(index).padStart(3, '0')}`, kind);
    }
    const listed = authorizer.listable(alice, defaultKinds, waiting);
    const { kinds, leftOut } = await listed;
    assert.ok(client.reviews.length <= 1024 + 1 + defaultKinds.length, String(client.reviews.length));
    assert.equal(leftOut, 100 - Math.floor(1024 / (defaultKinds.length + 1)));
    assert.equal(kinds.get(modelKind)?.length, 100 - leftOut);
  });

  it('asks the API server no more once the user has left', async () => {
    const { client, store, authorizer } = setUp(() => false);
    for (let index = 0; index < 200; index += 1) await store(`n-${index}`);
    const leaving = new AbortController();
    client.answer = () => {
      if (client.reviews.length === 20) leaving.abort();
      return { allowed: false };
    };
    await assert.rejects(authorizer.listableNamespaces(alice, modelKind, leaving.signal), { name: 'AbortError' });
    assert.ok(client.reviews.length < 40, String(client.reviews.length));
  });
});
