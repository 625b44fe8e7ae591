import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Ended, RunState } from '../../../hack/local/node/container-run.ts';
import type { Phase, Pod, RestartPolicy } from '../../../hack/local/node/pod.ts';
import { type ContainerView, type PodView, phaseOf, statusOf } from '../../../hack/local/node/pod-status.ts';

const startedAt = '2026-01-02T03:04:05.678Z';
const running: RunState = { kind: 'running', startedAt };

function ended(exitCode: number): Ended {
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  return { kind: 'ended', startedAt, finishedAt: '2026-01-02T03:05:00.000Z', exitCode, reason, message: '' };
}

function aContainer(run: RunState | undefined, more: Partial<ContainerView> = {}): ContainerView {
  const ready = run?.kind === 'running';
  return {
    ...{ spec: { name: 'main', image: 'image' }, role: 'main', id: 'id', run, previous: undefined },
    ...{ waiting: undefined, restartCount: 0, started: ready, ready },
    ...more,
  };
}

function aView(
  containers: readonly ContainerView[],
  more: Partial<PodView> = {},
  policy: RestartPolicy = 'Always',
): PodView {
  const metadata = { name: 'pod', namespace: 'default', uid: 'u', resourceVersion: '1', generation: 2 };
  const pod: Pod = { metadata, spec: { restartPolicy: policy, containers: containers.map(({ spec }) => spec) } };
  return {
    ...{ pod, containers, podIP: '192.0.2.2', hostIP: '192.0.2.1', prepared: true, over: false, failure: undefined },
    ...{ startTime: startedAt, now: new Date('2026-01-02T03:06:00.000Z') },
    ...more,
  };
}

function verdict(view: PodView, type: string): readonly (string | undefined)[] {
  const found = statusOf(view).conditions?.find((condition) => condition.type === type);
  return [found?.status, found?.reason, found?.message];
}

describe('the phase of a pod', () => {
  const crash = { waiting: { reason: 'CrashLoopBackOff' } };
  const rows: readonly [string, readonly ContainerView[], RestartPolicy, Phase][] = [
    ['nothing has started', [aContainer(undefined)], 'Always', 'Pending'],
    ['one of two has not started', [aContainer(running), aContainer(undefined)], 'Always', 'Pending'],
    ['all run', [aContainer(running)], 'Always', 'Running'],
    ['one runs and one has ended', [aContainer(running), aContainer(ended(0))], 'Never', 'Running'],
    ['it is restarted again and again', [aContainer(ended(1), crash)], 'Always', 'Running'],
    ['it ended well and is restarted always', [aContainer(ended(0))], 'Always', 'Running'],
    ['all ended well', [aContainer(ended(0)), aContainer(ended(0))], 'OnFailure', 'Succeeded'],
    ['one failed and is restarted on failure', [aContainer(ended(0)), aContainer(ended(1))], 'OnFailure', 'Running'],
    ['one failed and is never restarted', [aContainer(ended(0)), aContainer(ended(1))], 'Never', 'Failed'],
    ['an init container runs', [aContainer(running, { role: 'init' }), aContainer(undefined)], 'Always', 'Pending'],
    [
      'an init container failed for good',
      [aContainer(ended(1), { role: 'init' }), aContainer(undefined)],
      'Never',
      'Failed',
    ],
    ['an init container failed', [aContainer(ended(1), { role: 'init' }), aContainer(undefined)], 'Always', 'Pending'],
    ['only a sidecar still runs', [aContainer(running, { role: 'sidecar' }), aContainer(ended(0))], 'Never', 'Running'],
  ];
  for (const [when, containers, policy, phase] of rows) {
    it(`is ${phase} when ${when}`, () => assert.equal(phaseOf(aView(containers, {}, policy)), phase));
  }

  it('follows the exit codes when a pod that would be restarted is deleted', () => {
    assert.equal(phaseOf(aView([aContainer(ended(0))], { over: true })), 'Succeeded');
    assert.equal(phaseOf(aView([aContainer(ended(143))], { over: true })), 'Failed');
    assert.equal(phaseOf(aView([aContainer(undefined)], { over: true })), 'Failed');
  });

  it('never changes once it is final', () => {
    const view = aView([aContainer(running)]);
    for (const phase of ['Succeeded', 'Failed'] as const) {
      assert.equal(phaseOf({ ...view, pod: { ...view.pod, status: { phase } } }), phase);
    }
  });

  it('is Failed with its reason when the node ends the pod, and not before nothing runs', () => {
    const failure = { reason: 'DeadlineExceeded', message: 'too late' };
    assert.equal(statusOf(aView([aContainer(running)], { failure })).reason, undefined);
    const status = statusOf(aView([aContainer(ended(0))], { failure, over: true }));
    assert.deepEqual([status.phase, status.reason, status.message], ['Failed', 'DeadlineExceeded', 'too late']);
  });
});

describe('the conditions of a pod', () => {
  it('say which containers are not ready', () => {
    const unready = aContainer(running, { ready: false });
    const view = aView([unready, aContainer(running, { spec: { name: 'other', image: 'image' } })]);
    const expected = ['False', 'ContainersNotReady', 'containers with unready status: [main]'];
    assert.deepEqual(verdict(view, 'ContainersReady'), expected);
    assert.deepEqual(verdict(view, 'Ready'), expected);
    assert.deepEqual(verdict(view, 'Initialized'), ['True', undefined, undefined]);
  });

  it('say why a pod that has ended is not ready', () => {
    assert.deepEqual(verdict(aView([aContainer(ended(0))], {}, 'Never'), 'Ready').slice(0, 2), [
      'False',
      'PodCompleted',
    ]);
    assert.deepEqual(verdict(aView([aContainer(ended(1))], {}, 'Never'), 'Ready').slice(0, 2), ['False', 'PodFailed']);
    assert.equal(verdict(aView([aContainer(ended(1))], {}, 'Never'), 'PodReadyToStartContainers')[0], 'False');
  });

  it('name the init containers that are not done', () => {
    const init = aContainer(running, { role: 'init', spec: { name: 'first', image: 'image' } });
    const view = aView([init, aContainer(undefined)]);
    const expected = ['False', 'ContainersNotInitialized', 'containers with incomplete status: [first]'];
    assert.deepEqual(verdict(view, 'Initialized'), expected);
  });

  it('wait for readiness gates', () => {
    const view = aView([aContainer(running)]);
    const gated = { ...view.pod, spec: { ...view.pod.spec, readinessGates: [{ conditionType: 'example.com/fed' }] } };
    assert.equal(verdict({ ...view, pod: gated }, 'Ready')[1], 'ReadinessGatesNotReady');
    assert.equal(verdict({ ...view, pod: gated }, 'ContainersReady')[0], 'True');
    const conditions = [{ type: 'example.com/fed', status: 'True' }] as const;
    assert.equal(verdict({ ...view, pod: { ...gated, status: { conditions } } }, 'Ready')[0], 'True');
  });

  it('keep those of others, and the time of what did not change', () => {
    const view = aView([aContainer(running)]);
    const before = '2020-01-01T00:00:00Z';
    const conditions = [
      { type: 'DisruptionTarget', status: 'True' },
      { type: 'Ready', status: 'True', lastTransitionTime: before },
      { type: 'ContainersReady', status: 'False', lastTransitionTime: before },
    ] as const;
    const after = statusOf({ ...view, pod: { ...view.pod, status: { conditions } } }).conditions;
    const timeOf = (type: string) => after?.find((condition) => condition.type === type)?.lastTransitionTime;
    assert.ok(after?.some(({ type }) => type === 'DisruptionTarget'));
    assert.equal(timeOf('Ready'), before);
    assert.equal(timeOf('ContainersReady'), '2026-01-02T03:06:00Z');
  });
});

describe('the status of a container', () => {
  const statusOfMain = (container: ContainerView, more: Partial<PodView> = {}) =>
    statusOf(aView([container], more)).containerStatuses?.[0];

  it('shows how it ended as the last state while it waits to be restarted', () => {
    const status = statusOfMain(aContainer(ended(3), { waiting: { reason: 'CrashLoopBackOff' }, restartCount: 4 }));
    assert.equal(status?.state.waiting?.reason, 'CrashLoopBackOff');
    assert.equal(status.lastState.terminated?.exitCode, 3);
    assert.equal(status.restartCount, 4);
  });

  it('shows the run before as the last state of a container that runs', () => {
    const status = statusOfMain(aContainer(running, { previous: ended(3) }));
    assert.deepEqual(status?.state, { running: { startedAt } });
    assert.equal(status.lastState.terminated?.exitCode, 3);
  });

  it('is unknown when it never ran and never will', () => {
    assert.equal(statusOfMain(aContainer(undefined))?.state.waiting?.reason, 'ContainerCreating');
    const { terminated } = statusOfMain(aContainer(undefined), { over: true })?.state ?? {};
    assert.deepEqual([terminated?.exitCode, terminated?.reason], [137, 'ContainerStatusUnknown']);
  });
});
