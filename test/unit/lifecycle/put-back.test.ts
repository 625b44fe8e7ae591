import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { changedByOthers, withManifestHash } from '../../../src/lifecycle/reconcile/put-back.ts';

const body = { metadata: { labels: { a: 'b' } }, spec: { replicas: 2, containers: [{ name: 'sync', image: 'one' }] } };

function anObject(spec: object, of: { readonly body: object } = { body }): KubernetesObject {
  const { annotations } = withManifestHash(of).metadata;
  const metadata = { namespace: 'n', name: 'd', uid: 'u', resourceVersion: '1', labels: { a: 'b' }, annotations };
  return { apiVersion: 'v1', kind: 'D', metadata, spec } as KubernetesObject;
}

const asDesired = { replicas: 2, containers: [{ name: 'sync', image: 'one' }] };

describe('what another client had changed of a child', () => {
  it('are the fields of the manifest that the apply changed', () => {
    const edited = anObject({ replicas: 5, containers: [{ name: 'sync', image: 'two' }] });
    const paths = changedByOthers({ body }, edited, anObject(asDesired));
    assert.deepEqual(paths, ['spec.replicas', 'spec.containers[0].image']);
  });

  it('is nothing where only fields outside of the manifest differ', () => {
    const sidecar = { name: 'injected', image: 'x' };
    const before = anObject({ ...asDesired, containers: [...asDesired.containers, sidecar], paused: false });
    const after = anObject({ ...asDesired, containers: [...asDesired.containers, sidecar], paused: true });
    assert.deepEqual(changedByOthers({ body }, before, after), []);
  });

  it('is nothing where another manifest was applied before: then it is the resource that changed', () => {
    const older = { body: { ...body, spec: { ...body.spec, replicas: 1 } } };
    const before = anObject({ ...asDesired, replicas: 1 }, older);
    assert.deepEqual(changedByOthers({ body }, before, anObject(asDesired)), []);
  });
});
