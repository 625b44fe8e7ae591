import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import {
  deploymentProblem,
  endOf,
  isSilent,
  waitingProblem,
  warningsAbout,
} from '../../../src/lifecycle/reconcile/problems.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';

const created = '2026-01-01T00:00:00Z';
const later = new Date('2026-01-01T00:00:30Z');
const signal = new AbortController().signal;

function aPod(status: object): KubernetesObject {
  const metadata = { namespace: 'n', name: 'one-init-x', uid: 'u', resourceVersion: '1', creationTimestamp: created };
  return { apiVersion: 'v1', kind: 'Pod', metadata, status } as KubernetesObject;
}

const withState = (state: object, lastState: object = {}): KubernetesObject =>
  aPod({ phase: 'Pending', containerStatuses: [{ name: 'task', state, lastState }] });

function anEvent(name: string, reason: string, lastObservedTime: string): KubernetesObject {
  const metadata = { namespace: 'n', name, uid: name, resourceVersion: '1' };
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata,
    reason,
    note: 'of it',
    series: { lastObservedTime },
  };
}

describe('why a pod does not start', () => {
  it('names a container that had too little memory, whatever it logged at last', () => {
    const terminated = { reason: 'OOMKilled', exitCode: 137, message: 'copying rows' };
    const pod = withState({ waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } }, { terminated });
    assert.equal(waitingProblem(pod), 'one-init-x: CrashLoopBackOff OOMKilled: copying rows');
    assert.deepEqual(endOf(withState({ terminated })), { exitCode: 137, message: 'OOMKilled: copying rows' });
  });

  it('names an init container that crashes again and again, and a pod for which there is no node', () => {
    const waiting = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };
    const states = [{ name: 'first', state: waiting }];
    const others = [{ name: 'task', state: { waiting: { reason: 'PodInitializing' } } }];
    const pod = aPod({ phase: 'Pending', initContainerStatuses: states, containerStatuses: others });
    assert.equal(waitingProblem(pod), 'one-init-x: CrashLoopBackOff back-off');
    const conditions = [{ type: 'PodScheduled', reason: 'Unschedulable', message: 'no node has the memory' }];
    assert.equal(waitingProblem(aPod({ conditions })), 'one-init-x: Unschedulable no node has the memory');
  });

  it('is what the program said last, where it ended by itself', () => {
    const terminated = { reason: 'Error', exitCode: 1, message: 'no room\n' };
    assert.deepEqual(endOf(withState({ terminated })), { exitCode: 1, message: 'no room' });
    const result = { reason: 'Completed', exitCode: 0, message: '{"applied":[]}' };
    assert.equal(endOf(withState({ terminated: result }))?.message, '{"applied":[]}');
  });

  it('is what its node says of a pod that it evicted', () => {
    const pod = aPod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' });
    assert.deepEqual(endOf(pod), { exitCode: undefined, message: 'Evicted: The node was low on resource: memory.' });
    assert.equal(endOf(aPod({ phase: 'Running' })), undefined);
  });

  it('is asked of the events only where the status has been silent for a while', () => {
    const waiting = withState({ waiting: { reason: 'ContainerCreating' } });
    assert.equal(isSilent(waiting, later), true);
    assert.equal(isSilent(waiting, new Date('2026-01-01T00:00:05Z')), false);
    assert.equal(isSilent(withState({ running: {} }), later), false);
    assert.equal(isSilent(withState({ waiting: { reason: 'ErrImagePull' } }), later), false);
  });

  it('is the newest warning about it', async () => {
    const server = new FakeApiServer();
    server.of('events').put(anEvent('a', 'FailedMount', '2026-01-01T00:00:20Z'));
    server.of('events').put(anEvent('b', 'FailedScheduling', '2026-01-01T00:00:10Z'));
    const found = await warningsAbout(server, [aPod({})], signal);
    assert.equal(found.get('u'), 'one-init-x: FailedMount of it');
  });

  it('stays unknown without the right to read events, and an outage is an error', async () => {
    const failing = (reason: 'Forbidden' | 'Unavailable'): Parameters<typeof warningsAbout>[0] => {
      return { list: () => Promise.reject(new KubeError(reason, 'no')) };
    };
    assert.equal((await warningsAbout(failing('Forbidden'), [aPod({})], signal)).size, 0);
    await assert.rejects(warningsAbout(failing('Unavailable'), [aPod({})], signal));
  });

  it('is what the Deployment says where its pods cannot be created', () => {
    const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }];
    assert.equal(deploymentProblem({ ...aPod({ conditions }), kind: 'Deployment' }), 'FailedCreate exceeded quota');
    const over = [{ ...conditions[0], status: 'False' }];
    assert.equal(deploymentProblem({ ...aPod({ conditions: over }), kind: 'Deployment' }), undefined);
  });
});
