// The scenarios of controller-runtime's event handler tests.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import {
  type EventHandler,
  enqueueForObject,
  enqueueForOwner,
  enqueueMapped,
  lowPriorityWhenUnchanged,
} from '../../../src/runtime/handler.ts';
import { LOW_PRIORITY } from '../../../src/runtime/work-queue.ts';
import { aModel } from '../../support/objects.ts';
import { RecordingQueue } from './recording-queue.ts';

const low = { priority: LOW_PRIORITY };

function named(name: string, more: Parameters<typeof aModel>[0] = {}): KubernetesObject {
  return aModel({ name, namespace: 'ns', ...more });
}

/** What the handler adds for each kind of event on the object. */
function addedBy(handler: EventHandler, given: KubernetesObject) {
  const queue = new RecordingQueue();
  const object = asWatched(given);
  const changed = asWatched({ ...given, metadata: { ...given.metadata, resourceVersion: '11' } });
  handler.create({ object, initial: false }, queue);
  const create = queue.take();
  handler.create({ object, initial: true }, queue);
  const initial = queue.take();
  handler.update({ before: object, after: changed }, queue);
  const update = queue.take();
  handler.update({ before: object, after: object }, queue);
  const unchanged = queue.take();
  handler.delete({ object, finalStateUnknown: true }, queue);
  const deleted = queue.take();
  return { create, initial, update, unchanged, deleted };
}

describe('enqueueForObject', () => {
  it('enqueues the object for every kind of event, with low priority where nothing is new', () => {
    assert.deepEqual(addedBy(enqueueForObject(), named('a')), {
      create: [['ns/a', {}]],
      initial: [['ns/a', low]],
      update: [['ns/a', {}]],
      unchanged: [['ns/a', low]],
      deleted: [['ns/a', {}]],
    });
  });
});

describe('enqueueMapped', () => {
  it('enqueues what the function gives, for every kind of event', () => {
    const handler = enqueueMapped(({ identity }) => [`x/${identity.name}`, 'x/all']);
    const both = (options: object): unknown => [
      ['x/a', options],
      ['x/all', options],
    ];
    assert.deepEqual(addedBy(handler, named('a')), {
      create: both({}),
      initial: both(low),
      update: both({}),
      unchanged: both(low),
      deleted: both({}),
    });
  });

  it('runs on both states of an update and enqueues each key once', () => {
    const queue = new RecordingQueue();
    const handler = enqueueMapped(({ watched }) => [`x/${watched?.parse().metadata.labels?.['to']}`, 'x/all']);
    const before = asWatched(named('a', { labels: { to: 'one' } }));
    const after = asWatched(named('a', { labels: { to: 'two' }, resourceVersion: '11' }));
    handler.update({ before, after }, queue);
    assert.deepEqual(
      queue.take().map(([key]) => key),
      ['x/one', 'x/all', 'x/two'],
    );
  });
});

describe('enqueueForOwner', () => {
  const reference = { apiVersion: 'example.com/v1', kind: 'Parent', name: 'p', uid: '1', controller: true };
  const options = { group: 'example.com', kind: 'Parent' };
  const ownedBy = (...ownerReferences: readonly object[]): KubernetesObject => named('child', { ownerReferences });
  const keys = (object: KubernetesObject, more: Partial<Parameters<typeof enqueueForOwner>[0]> = {}) =>
    addedBy(enqueueForOwner({ ...options, ...more }), object).create.map(([key]) => key);

  it('enqueues the owner in the namespace of the object', () => {
    assert.deepEqual(addedBy(enqueueForOwner(options), ownedBy(reference)), {
      create: [['ns/p', {}]],
      initial: [['ns/p', low]],
      update: [['ns/p', {}]],
      unchanged: [['ns/p', low]],
      deleted: [['ns/p', {}]],
    });
  });

  it('does not compare the version', () => {
    assert.deepEqual(keys(ownedBy({ ...reference, apiVersion: 'example.com/v2beta1' })), ['ns/p']);
  });

  it('compares group and kind', () => {
    assert.deepEqual(keys(ownedBy({ ...reference, apiVersion: 'other.com/v1' })), []);
    assert.deepEqual(keys(ownedBy({ ...reference, kind: 'Other' })), []);
    assert.deepEqual(keys(ownedBy({ ...reference, apiVersion: 'v1' })), []);
    assert.deepEqual(keys(ownedBy({ ...reference, apiVersion: 'v1' }), { group: '' }), ['ns/p']);
  });

  it('takes the owner that is marked as controller only', () => {
    const object = ownedBy(
      { ...reference, name: 'other', controller: false },
      { ...reference, name: 'third' },
      {
        ...reference,
        name: 'fourth',
        controller: undefined,
      },
    );
    assert.deepEqual(keys(object), ['ns/third']);
  });

  it('enqueues the owners from before and after an update', () => {
    const queue = new RecordingQueue();
    const before = asWatched(ownedBy(reference));
    const after = asWatched(ownedBy({ ...reference, name: 'q' }));
    enqueueForOwner(options).update({ before, after }, queue);
    assert.deepEqual(
      queue.take().map(([key]) => key),
      ['ns/p', 'ns/q'],
    );
  });

  it('enqueues nothing without owners, and for references that are not valid', () => {
    assert.deepEqual(keys(named('child')), []);
    assert.deepEqual(keys(named('child', { ownerReferences: ['text', {}] })), []);
  });
});

describe('WithLowPriorityWhenUnchanged', () => {
  const everyWay = lowPriorityWhenUnchanged({
    create: (_event, queue) => {
      queue.add('plain');
      queue.add('options', { afterMs: 5 });
      queue.add('stated', { priority: 3 });
    },
    update: (_event, queue) => queue.add('plain'),
    delete: (_event, queue) => queue.add('plain'),
  });

  it('lowers every way of adding, but not a priority that the handler states', () => {
    assert.deepEqual(addedBy(everyWay, named('a')).initial, [
      ['plain', low],
      ['options', { afterMs: 5, ...low }],
      ['stated', { priority: 3 }],
    ]);
  });

  it('changes nothing for an event with something new', () => {
    assert.deepEqual(addedBy(everyWay, named('a')).create, [
      ['plain', {}],
      ['options', { afterMs: 5 }],
      ['stated', { priority: 3 }],
    ]);
    assert.deepEqual(addedBy(everyWay, named('a')).update, [['plain', {}]]);
  });
});
