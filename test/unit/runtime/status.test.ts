import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { ApplyOptions, ObjectRef } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { type ApplyTarget, applyFields, applyStatus } from '../../../src/runtime/field-group.ts';
import { StatusLog } from '../../../src/runtime/status-log.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { aModel } from '../../support/objects.ts';

const target: ApplyTarget = {
  resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
  apiVersion: 'michelangelo.api/v2',
  kind: 'Model',
  namespace: 'ns',
  name: 'a',
};

/** A client that keeps what it was asked to apply. */
function applying() {
  const sent: (readonly [object, ApplyOptions])[] = [];
  const client = {
    apply: (_ref: ObjectRef, object: object, options: ApplyOptions): Promise<KubernetesObject> => {
      sent.push([object, options]);
      return Promise.resolve(aModel());
    },
  };
  return { client, sent };
}

describe('applyFields', () => {
  const group = { manager: 'ingester-spec', fields: ['spec', 'metadata.labels'] };

  it('applies the whole intent by force, under the manager of its group', async () => {
    const { client, sent } = applying();
    await applyFields(client, target, group, { spec: { replicas: 1 }, metadata: { labels: { a: 'b' } } });
    assert.deepEqual(sent, [
      [
        {
          apiVersion: 'michelangelo.api/v2',
          kind: 'Model',
          metadata: { namespace: 'ns', name: 'a', labels: { a: 'b' } },
          spec: { replicas: 1 },
        },
        { fieldManager: 'ingester-spec', force: true },
      ],
    ]);
  });

  it('refuses a field of another group before it sends anything', () => {
    const { client, sent } = applying();
    for (const intent of [{ status: {} }, { metadata: { annotations: {} } }]) {
      assert.throws(() => applyFields(client, target, group, intent), { code: 'FIELD_GROUP' });
    }
    assert.deepEqual(sent, []);
  });
});

describe('applyStatus', () => {
  it('writes the status blindly: no resourceVersion, no reading', async () => {
    const { client, sent } = applying();
    await applyStatus(client, target, 'ingester-status', { phase: 'Ready' });
    const [[body, options] = []] = sent;
    assert.deepEqual(body, {
      apiVersion: 'michelangelo.api/v2',
      kind: 'Model',
      metadata: { namespace: 'ns', name: 'a' },
      status: { phase: 'Ready' },
    });
    assert.deepEqual(options, { fieldManager: 'ingester-status', force: true, subresource: 'status' });
  });
});

describe('StatusLog', () => {
  function setUp(limit?: number) {
    const client = new FakeKubeClient();
    const first = client.put(aModel({ namespace: 'ns', name: 'a', uid: 'u1' }));
    const log = new StatusLog({ client, fieldManager: 'ingester-log', ...(limit === undefined ? {} : { limit }) });
    return { client, first, log };
  }

  it('writes only over the state that was read', async () => {
    const { client, first, log } = setUp();
    await log.write(target, first, { step: 'drain' });
    assert.deepEqual(client.object('ns/a')?.['status'], { step: 'drain' });
    await assert.rejects(log.write(target, first, { step: 'other' }), { reason: 'Conflict' });
    assert.deepEqual(client.object('ns/a')?.['status'], { step: 'drain' });
  });

  it('gives its own last write until the cache has caught up', async () => {
    const { client, first, log } = setUp();
    assert.equal(log.latest(first), first);
    const written = await log.write(target, first, { step: 'drain' });
    assert.deepEqual(log.latest(first), written, 'the cache is behind');
    assert.equal(log.latest(written), written);
    assert.equal(log.latest(first), first, 'and it is not asked any more');
    const newer = client.put({ ...written, status: { step: 'by another' } });
    await log.write(target, newer, { step: 'drain' });
    const newest = client.put({ ...newer, status: {} });
    assert.equal(log.latest(newest), newest);
  });

  it('believes the cache again after a conflict: a restore of etcd takes back what was written', async () => {
    const { client, first, log } = setUp();
    const written = await log.write(target, first, { step: 'drain' });
    client.failures.push({ call: 'update', error: new KubeError('Conflict', 'the object has been modified') });
    await assert.rejects(log.write(target, written, { step: 'other' }), { reason: 'Conflict' });
    assert.equal(log.latest(first), first);
  });

  it('compares versions as numbers', () => {
    const { log } = setUp();
    const client = { update: () => Promise.resolve(aModel({ uid: 'u', resourceVersion: '10' })) };
    const own = new StatusLog({ client, fieldManager: 'x' });
    const cached = aModel({ uid: 'u', resourceVersion: '9' });
    assert.equal(log.latest(cached), cached);
    return own.write(target, cached, {}).then((written) => assert.equal(own.latest(cached), written));
  });

  it('gives a new object of the same name nothing of the old one', async () => {
    const { first, log } = setUp();
    await log.write(target, first, { step: 'drain' });
    const again = aModel({ namespace: 'ns', name: 'a', uid: 'u2', resourceVersion: '1' });
    assert.equal(log.latest(again), again);
  });

  it('forgets what it is told to, and the oldest when there are too many', async () => {
    const { client, first, log } = setUp(1);
    await log.write(target, first, { step: 'drain' });
    const other = client.put(aModel({ namespace: 'ns', name: 'b', uid: 'u9' }));
    const written = await log.write({ ...target, name: 'b' }, other, {});
    assert.equal(log.latest(first), first);
    assert.equal(log.latest(other), written);
    log.forget('u9');
    assert.equal(log.latest(other), other);
  });
});
