import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { aDeployment, aJob, aShell, useNodes } from '../support/use-nodes.ts';

/** Ends at once when it is asked to. */
const server = (text = 'sleep'): object => ({
  terminationGracePeriodSeconds: 5,
  containers: [aShell(`echo ${text}; exec sleep 10000`)],
});

describe('workloads on a process node', () => {
  const use = useNodes({ timings: { restartBackoffMs: 500, longestBackoffMs: 2000 } });

  it('roll out, roll back, scale to zero and back', async () => {
    const cluster = use();
    await cluster.apply(aDeployment('web', 2, server('first')));
    await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=60s');
    const logs = async (): Promise<readonly string[]> => {
      const pods = (await cluster.pods('app=web')).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      return Promise.all(pods.map(({ metadata }) => cluster.kubectl('logs', metadata.name)));
    };
    await cluster.apply(aDeployment('web', 2, server('second')));
    await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=60s');
    await eventually(async () => assert.deepEqual(await logs(), ['second\n', 'second\n']));
    await cluster.kubectl('rollout', 'undo', 'deployment/web');
    await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=60s');
    await eventually(async () => assert.deepEqual(await logs(), ['first\n', 'first\n']));
    await cluster.kubectl('scale', 'deployment/web', '--replicas=0');
    await eventually(async () => assert.deepEqual(await cluster.pods('app=web'), []));
    await cluster.kubectl('scale', 'deployment/web', '--replicas=1');
    await cluster.kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=60s');
    await cluster.kubectl('delete', 'deployment/web');
  });

  it('stay with the old pods when the new ones never become ready', async () => {
    const cluster = use();
    await cluster.apply(aDeployment('kept', 1, server()));
    await cluster.kubectl('rollout', 'status', 'deployment/kept', '--timeout=60s');
    const [before] = await cluster.pods('app=kept');
    const readinessProbe = { exec: { command: ['false'] } };
    const broken = { containers: [aShell('exit 1', { readinessProbe })] };
    await cluster.apply(aDeployment('kept', 1, broken));
    await eventually(async () => {
      const pods = await cluster.pods('app=kept');
      const reasons = pods.map(({ status }) => status?.containerStatuses?.[0]?.state.waiting?.reason);
      assert.ok(reasons.includes('CrashLoopBackOff'), reasons.join());
    });
    const still = (await cluster.pods('app=kept')).find(({ metadata }) => metadata.uid === before?.metadata.uid);
    assert.equal(still?.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
    await cluster.kubectl('delete', 'deployment/kept');
  });

  it('complete a Job', async () => {
    const cluster = use();
    await cluster.apply(aJob('adds', { containers: [aShell('echo $((1 + 1))')] }, { completions: 2, parallelism: 2 }));
    await cluster.kubectl('wait', '--for=condition=Complete', 'job/adds', '--timeout=60s');
    const pods = await cluster.pods('app=adds');
    assert.deepEqual(
      pods.map(({ status }) => status?.phase),
      ['Succeeded', 'Succeeded'],
    );
    assert.match(await cluster.kubectl('logs', 'job/adds'), /^2$/m);
    await cluster.kubectl('delete', 'job/adds');
  });

  it('fail a Job without retries at its first failure', async () => {
    const cluster = use();
    await cluster.apply(aJob('fails', { containers: [aShell('echo reason >&2; exit 7')] }, { backoffLimit: 0 }));
    await cluster.kubectl('wait', '--for=condition=Failed', 'job/fails', '--timeout=60s');
    const [pod, ...others] = await cluster.pods('app=fails');
    assert.equal(others.length, 0);
    assert.equal(pod?.status?.phase, 'Failed');
    assert.equal(pod.status.containerStatuses?.[0]?.state.terminated?.exitCode, 7);
    await cluster.kubectl('delete', 'job/fails');
  });

  it('restart a container of a Job in its pod where the policy says so', async () => {
    const cluster = use();
    const script = 'echo again >> /data/tries; [ $(wc -l < /data/tries) -ge 3 ]';
    const container = aShell(script, { volumeMounts: [{ name: 'data', mountPath: '/data' }] });
    const pod = { restartPolicy: 'OnFailure', containers: [container], volumes: [{ name: 'data', emptyDir: {} }] };
    await cluster.apply(aJob('retries', pod));
    await cluster.kubectl('wait', '--for=condition=Complete', 'job/retries', '--timeout=60s');
    const [one] = await cluster.pods('app=retries');
    assert.equal(one?.status?.containerStatuses?.[0]?.restartCount, 2);
    await cluster.kubectl('delete', 'job/retries');
  });

  it('end a Job at its deadline', async () => {
    const cluster = use();
    await cluster.apply(aJob('late', server(), { activeDeadlineSeconds: 1 }));
    await cluster.kubectl('wait', '--for=condition=Failed', 'job/late', '--timeout=60s');
    const job = JSON.parse(await cluster.kubectl('get', 'job/late', '-o', 'json')) as {
      status: { conditions: { type: string; reason: string }[] };
    };
    assert.equal(job.status.conditions.find(({ type }) => type === 'Failed')?.reason, 'DeadlineExceeded');
    await eventually(async () => assert.deepEqual(await cluster.pods('app=late'), []));
    await cluster.kubectl('delete', 'job/late');
  });

  for (const propagation of ['foreground', 'background']) {
    it(`end the pods of a Job that is deleted in the ${propagation}`, async () => {
      const cluster = use();
      const name = `gone-${propagation}`;
      await cluster.apply(aJob(name, server()));
      await eventually(async () => assert.equal((await cluster.pods(`app=${name}`))[0]?.status?.phase, 'Running'));
      await cluster.kubectl('delete', `job/${name}`, `--cascade=${propagation}`, '--timeout=60s');
      if (propagation === 'foreground') assert.deepEqual(await cluster.pods(`app=${name}`), []);
      await eventually(async () => assert.deepEqual(await cluster.pods(`app=${name}`), []));
    });
  }

  it('run fifty pods at once', async () => {
    const cluster = use();
    await cluster.apply(aDeployment('many', 50, server()));
    await cluster.kubectl('rollout', 'status', 'deployment/many', '--timeout=300s');
    const addresses = (await cluster.pods('app=many')).map(({ status }) => status?.podIP);
    assert.equal(new Set(addresses).size, 50);
    await cluster.kubectl('scale', 'deployment/many', '--replicas=0');
    await eventually(async () => assert.deepEqual(await cluster.pods('app=many'), []), 120_000);
    await cluster.kubectl('delete', 'deployment/many');
  });
});
