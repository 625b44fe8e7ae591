// Kubernetes events of a stored object.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { ListOptions, ListPage, Resource } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { fill, messageIn, queryApp } from '../../support/query-app.ts';

class EventsClient extends FakeKubeClient {
  asked: (Pick<ListOptions, 'namespace' | 'fieldSelector'> & Pick<Resource, 'group' | 'plural'>)[] = [];
  answer: () => readonly object[] = () => [];
  continueToken: string | undefined;

  override list({ group, plural }: Resource, { namespace = '', fieldSelector = '' }: ListOptions): Promise<ListPage> {
    this.asked.push({ group, plural, namespace, fieldSelector });
    return Promise.resolve().then(() => ({
      items: this.answer().map((event) => asWatched(event as KubernetesObject)),
      resourceVersion: '1',
      continueToken: this.continueToken,
    }));
  }
}

const event = (reason: string, more: object = {}): object => ({
  metadata: {
    name: reason,
    namespace: 'a',
    uid: reason,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  reason,
  ...more,
});

interface EventsAnswer {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly truncated: boolean;
}

describe('the events of an object', () => {
  const setUp = async (more: Parameters<typeof queryApp>[0] = {}) => {
    const client = new EventsClient();
    const { storage, get } = queryApp({ client, ...more });
    await fill(storage);
    return { client, get };
  };

  it('are asked for by the uid of the object, in its namespace', async () => {
    const { client, get } = await setUp();
    assert.equal((await get('/namespaces/a/models/m1/events')).status, 200);
    assert.equal((await get('/namespaces/b/models/m4/events?uid=uid-4')).status, 200);
    assert.deepEqual(client.asked, [
      { group: '', plural: 'events', namespace: 'a', fieldSelector: 'involvedObject.uid=uid-1' },
      { group: '', plural: 'events', namespace: 'b', fieldSelector: 'involvedObject.uid=uid-4' },
    ]);
  });

  it('say the same whichever API wrote them, the newest first', async () => {
    const { client, get } = await setUp();
    client.answer = () => [
      event('Old', {
        ...{ type: 'Normal', message: 'of client-go', count: 3, source: { component: 'kubelet' } },
        ...{ firstTimestamp: '2026-01-01T00:00:01Z', lastTimestamp: '2026-01-01T00:00:02Z', eventTime: null },
      }),
      event('New', {
        ...{ type: 'Warning', message: 'of events.k8s.io', reportingComponent: 'michelangelo.api/ingester' },
        ...{ eventTime: '2026-01-01T00:00:03Z', lastTimestamp: null },
        series: { count: 7, lastObservedTime: '2026-01-01T00:00:05Z' },
      }),
      event('Bare'),
    ];
    const { items, truncated } = (await get('/namespaces/a/models/m1/events')).body as EventsAnswer;
    assert.equal(truncated, false);
    assert.deepEqual(items, [
      {
        ...{ type: 'Warning', reason: 'New', message: 'of events.k8s.io', count: 7 },
        ...{
          firstTime: '2026-01-01T00:00:03Z',
          lastTime: '2026-01-01T00:00:05Z',
          reporter: 'michelangelo.api/ingester',
        },
      },
      {
        ...{ type: 'Normal', reason: 'Old', message: 'of client-go', count: 3 },
        ...{ firstTime: '2026-01-01T00:00:01Z', lastTime: '2026-01-01T00:00:02Z', reporter: 'kubelet' },
      },
      { reason: 'Bare', count: 1, firstTime: '2026-01-01T00:00:00Z', lastTime: '2026-01-01T00:00:00Z' },
    ]);
  });

  it('are fifty at most, and it is said where there are more', async () => {
    const { client, get } = await setUp();
    client.answer = () => Array.from({ length: 51 }, (_, index) => event(`E${index}`));
    const many = (await get('/namespaces/a/models/m1/events')).body as EventsAnswer;
    assert.deepEqual([many.items.length, many.truncated], [50, true]);
    client.answer = () => [event('E')];
    client.continueToken = 'more';
    const cut = (await get('/namespaces/a/models/m1/events')).body as EventsAnswer;
    assert.deepEqual([cut.items.length, cut.truncated], [1, true]);
  });

  for (const [what, more] of [
    ['get the object', { denied: ['get'] }],
    ['list events', { events: 'forbidden' }],
  ] as const) {
    it(`are refused to a user who may not ${what}, before they are asked for`, async () => {
      const { client, get } = await setUp(more);
      assert.equal((await get('/namespaces/a/models/m1/events')).status, 403);
      assert.deepEqual(client.asked, []);
    });
  }

  it('are of an object that is stored, under its name', async () => {
    const { client, get } = await setUp();
    for (const path of ['/namespaces/a/models/none/events', '/namespaces/a/models/m1/events?uid=uid-3']) {
      assert.equal((await get(path)).status, 404, path);
    }
    assert.equal((await get('/namespaces/a/models/m1/events?limit=3')).status, 400);
    assert.deepEqual(client.asked, []);
  });

  it('are an error, and never none, where the API server does not answer', async () => {
    const { client, get } = await setUp();
    client.answer = () => {
      throw new KubeError('Unavailable', 'away');
    };
    assert.equal((await get('/namespaces/a/models/m1/events')).status, 503);
    client.answer = () => {
      throw new KubeError('Forbidden', 'no');
    };
    const { status, body } = await get('/namespaces/a/models/m1/events');
    assert.equal(status, 403);
    assert.match(messageIn(body), /account of the query API may not list them/);
  });
});
