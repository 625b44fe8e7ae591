import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { valueAt } from '../../../src/base/json.ts';
import type { KubeClient, Resource } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { Authenticator } from '../../../src/query/authenticate.ts';
import { Authorizer } from '../../../src/query/authorize.ts';
import type { User } from '../../../src/query/user.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { modelKind } from '../../support/objects.ts';

/** Answers reviews by a function, and lists namespaces. */
class ReviewClient {
  readonly reviews: unknown[] = [];
  namespaces: readonly string[] = [];
  answer: (spec: unknown) => unknown = () => ({});

  create(_resource: Resource, _namespace: string, object: object): Promise<unknown> {
    const spec = valueAt(object, ['spec']);
    this.reviews.push(spec);
    return Promise.resolve({ status: this.answer(spec) });
  }

  list(): Promise<unknown> {
    const items = this.namespaces.map((name) => ({ metadata: { name } }));
    return Promise.resolve({ items, resourceVersion: '1', continueToken: undefined });
  }

  asClient(): KubeClient {
    return this as unknown as KubeClient;
  }
}

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
      authenticator: new Authenticator({ client: client.asClient(), clock, frontProxy: () => undefined }),
    };
  };
  const bearer = request({ authorization: 'Bearer good' });

  it('is confirmed by the API server, once for ten seconds', async () => {
    const { client, clock, authenticator } = setUp();
    client.answer = () => ({ authenticated: true, user: { username: 'alice', groups: ['team-a'] } });
    assert.deepEqual(await authenticator.authenticate(bearer), alice);
    await authenticator.authenticate(bearer);
    assert.deepEqual(client.reviews, [{ token: 'good' }]);
    await clock.advance(10_000);
    await authenticator.authenticate(bearer);
    assert.equal(client.reviews.length, 2);
  });

  it('is refused where the API server does not know it', async () => {
    const { client, authenticator } = setUp();
    client.answer = () => ({ authenticated: false, user: { username: 'alice' } });
    await assert.rejects(authenticator.authenticate(bearer), { reason: 'Unauthorized' });
  });

  it('is asked about again after the API server was away', async () => {
    const { client, authenticator } = setUp();
    client.answer = () => {
      throw new KubeError('Unavailable', 'away');
    };
    await assert.rejects(authenticator.authenticate(bearer), { code: 'KUBE_UNAVAILABLE' });
    client.answer = () => ({ authenticated: true, user: { username: 'alice' } });
    assert.equal((await authenticator.authenticate(bearer)).name, 'alice');
  });

  it('is needed: without one there is nobody', async () => {
    await assert.rejects(setUp().authenticator.authenticate(request({})), { reason: 'Unauthorized' });
  });

  it('does not let its owner act as somebody else', async () => {
    const impersonating = request({ authorization: 'Bearer good', 'impersonate-user': 'root' });
    await assert.rejects(setUp().authenticator.authenticate(impersonating), { reason: 'Forbidden' });
  });
});

describe('access to stored objects', () => {
  const setUp = (allowed: (attributes: Readonly<Record<string, string>>) => boolean) => {
    const client = new ReviewClient();
    client.answer = (spec) => ({
      allowed: allowed(valueAt(spec, ['resourceAttributes']) as Readonly<Record<string, string>>),
    });
    return { client, authorizer: new Authorizer({ client: client.asClient(), clock: new FakeClock() }) };
  };
  const getModel = { verb: 'get', kind: modelKind, namespace: 'ml', name: 'm1' } as const;

  it('is decided on the original kind, for the user as a whole', async () => {
    const { client, authorizer } = setUp(() => true);
    await authorizer.require({ ...alice, extra: { scope: ['read'] } }, getModel);
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
    await assert.rejects(authorizer.require(alice, getModel), {
      reason: 'Forbidden',
      message:
        'models.michelangelo.api "m1" is forbidden: User "alice" cannot get resource "models" in API group "michelangelo.api" in the namespace "ml"',
    });
  });

  it('is not shared between users of the same name in other groups', async () => {
    const { client, authorizer } = setUp(() => true);
    await authorizer.require(alice, getModel);
    await authorizer.require({ ...alice, groups: [] }, getModel);
    await authorizer.require(alice, getModel);
    assert.equal(client.reviews.length, 2);
  });

  it('covers every namespace for whoever may list them all', async () => {
    const { authorizer } = setUp(({ namespace }) => namespace === undefined);
    assert.equal(await authorizer.listableNamespaces(alice, modelKind), undefined);
  });

  it('covers the namespaces that may be listed one by one for everybody else', async () => {
    const { client, authorizer } = setUp(({ namespace }) => namespace === 'a' || namespace === 'c');
    client.namespaces = ['a', 'b', 'c'];
    assert.deepEqual(await authorizer.listableNamespaces(alice, modelKind), ['a', 'c']);
  });

  it('is refused, not empty, for whoever may list nothing', async () => {
    const { client, authorizer } = setUp(() => false);
    client.namespaces = ['a'];
    await assert.rejects(authorizer.listableNamespaces(alice, modelKind), { reason: 'Forbidden' });
  });
});
