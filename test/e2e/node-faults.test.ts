import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Pod } from '../../hack/local/node/pod.ts';
import { isAlive, readIdentity } from '../../hack/local/node/process-identity.ts';
import { eventually, throughout } from '../support/eventually.ts';
import { isRunning, killAfterFirstLine, processesOf } from '../support/processes.ts';
import { aDeployment, aPod, aShell, type NodeCluster, useNodes } from '../support/use-nodes.ts';

const sleeper = { terminationGracePeriodSeconds: 1, containers: [aShell('exec sleep 10000')] };

function waitingReason(pod: Pod): string | undefined {
  return pod.status?.containerStatuses?.[0]?.state.waiting?.reason;
}

/** Waits until the container waits for this reason. */
function waitsFor(cluster: NodeCluster, name: string, reason: string): Promise<Pod> {
  return eventually(async () => {
    const pod = await cluster.pod(name);
    assert.equal(waitingReason(pod), reason);
    return pod;
  });
}

async function isRunningPod(cluster: NodeCluster, name: string): Promise<void> {
  await eventually(async () => assert.equal((await cluster.pod(name)).status?.phase, 'Running'));
}

describe('a failing pod on a process node', () => {
  const use = useNodes({ timings: { restartBackoffMs: 300, longestBackoffMs: 1200 } });

  it('waits with ImagePullBackOff for an image that the table does not have', async () => {
    const cluster = use();
    await cluster.apply(aPod('unknown', { ...sleeper, containers: [{ name: 'main', image: 'nginx:1' }] }));
    const pod = await waitsFor(cluster, 'unknown', 'ImagePullBackOff');
    assert.equal(pod.status?.phase, 'Pending');
    await eventually(async () => {
      const events = await cluster.events('unknown');
      assert.ok(
        events.includes('Failed') && events.includes('ErrImagePull') && events.includes('BackOff'),
        events.join(),
      );
    });
    await cluster.kubectl('delete', 'pod/unknown', '--timeout=60s');
  });

  it('fails with StartError for a command that does not exist', async () => {
    const cluster = use();
    const container = { name: 'main', image: 'test/shell', command: ['no-such-program'] };
    await cluster.apply(aPod('missing', { restartPolicy: 'Never', containers: [container] }));
    const pod = await eventually(async () => {
      const seen = await cluster.pod('missing');
      assert.equal(seen.status?.phase, 'Failed');
      return seen;
    });
    const end = pod.status?.containerStatuses?.[0]?.state.terminated;
    assert.deepEqual([end?.exitCode, end?.reason], [128, 'StartError']);
    assert.match(end?.message ?? '', /"no-such-program": executable file not found/);
  });

  it('waits for a Secret that comes later, and then starts', async () => {
    const cluster = use();
    const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'later', key: 'key' } } }];
    await cluster.apply(aPod('early', { ...sleeper, containers: [aShell('echo $KEY; exec sleep 10000', { env })] }));
    const pod = await waitsFor(cluster, 'early', 'CreateContainerConfigError');
    assert.equal(pod.status?.containerStatuses?.[0]?.state.waiting?.message, 'secret "later" not found');
    await cluster.kubectl('create', 'secret', 'generic', 'later', '--from-literal=other=x');
    await eventually(async () => {
      const { message } = (await cluster.pod('early')).status?.containerStatuses?.[0]?.state.waiting ?? {};
      assert.equal(message, "couldn't find key key in Secret default/later");
    });
    await cluster.kubectl('patch', 'secret', 'later', '-p', '{"stringData":{"key":"there"}}');
    await eventually(async () => assert.equal(await cluster.kubectl('logs', 'early'), 'there\n'));
    await cluster.kubectl('delete', 'pod/early', '--timeout=60s');
  });

  it('waits for a volume that comes later, and then starts', async () => {
    const cluster = use();
    const volumes = [{ name: 'data', configMap: { name: 'volume-later' } }];
    const script = aShell('cat /data/key; exec sleep 10000', { volumeMounts: [{ name: 'data', mountPath: '/data' }] });
    await cluster.apply(aPod('mounts', { ...sleeper, containers: [script], volumes }));
    await eventually(async () => assert.ok((await cluster.events('mounts')).includes('FailedMount')));
    const pod = await waitsFor(cluster, 'mounts', 'ContainerCreating');
    const ready = pod.status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers');
    assert.equal(ready?.status, 'False');
    await cluster.kubectl('create', 'configmap', 'volume-later', '--from-literal=key=mounted');
    await eventually(async () => assert.equal(await cluster.kubectl('logs', 'mounts'), 'mounted'));
    await cluster.kubectl('delete', 'pod/mounts', '--timeout=60s');
  });

  it('backs off from a container that crashes again and again', async () => {
    const cluster = use();
    await cluster.apply(aPod('crashes', { ...sleeper, containers: [aShell('echo run; exit 5')] }));
    await eventually(async () => {
      const [container] = (await cluster.pod('crashes')).status?.containerStatuses ?? [];
      assert.ok((container?.restartCount ?? 0) >= 3);
      assert.equal(container?.state.waiting?.reason, 'CrashLoopBackOff');
      assert.match(
        container.state.waiting.message ?? '',
        /^back-off [\d.]+s restarting failed container=main pod=crashes_/,
      );
      assert.equal(container.lastState.terminated?.exitCode, 5);
    });
    assert.equal((await cluster.pod('crashes')).status?.phase, 'Running');
    assert.equal(await cluster.kubectl('logs', 'crashes', '--previous'), 'run\n');
    await cluster.kubectl('delete', 'pod/crashes', '--timeout=60s');
  });

  it('fails with an init container that is not to be restarted', async () => {
    const cluster = use();
    const initContainers = [{ ...aShell('exit 9'), name: 'before' }];
    await cluster.apply(aPod('uninitialized', { ...sleeper, restartPolicy: 'Never', initContainers }));
    const pod = await eventually(async () => {
      const seen = await cluster.pod('uninitialized');
      assert.equal(seen.status?.phase, 'Failed');
      return seen;
    });
    assert.equal(pod.status?.initContainerStatuses?.[0]?.state.terminated?.exitCode, 9);
    assert.equal(pod.status.containerStatuses?.[0]?.state.terminated, undefined);
  });
});

describe('a process node that dies', () => {
  const use = useNodes({ count: 2, timings: { restartBackoffMs: 300, longestBackoffMs: 1200, heartbeatMs: 500 } });

  const nodeOf = (cluster: NodeCluster, index: 0 | 1) => {
    const node = cluster.nodes[index];
    assert.ok(node);
    return node;
  };

  it('shares its pods with another node, each with addresses of its own', async () => {
    const cluster = use();
    const constraint = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' };
    const topologySpreadConstraints = [{ ...constraint, labelSelector: { matchLabels: { app: 'spread' } } }];
    await cluster.apply(aDeployment('spread', 4, { ...sleeper, topologySpreadConstraints }));
    await cluster.kubectl('rollout', 'status', 'deployment/spread', '--timeout=60s');
    const addresses = (await cluster.pods('app=spread')).map(({ status }) =>
      status?.podIP?.split('.').slice(0, 3).join('.'),
    );
    assert.deepEqual(addresses.sort(), ['192.0.2', '192.0.2', '198.51.100', '198.51.100']);
    await cluster.kubectl('drain', 'process-node-1', '--timeout=60s');
    await eventually(async () => {
      const pods = (await cluster.pods('app=spread')).filter(({ spec }) => spec.nodeName === 'process-node-1');
      assert.deepEqual(pods, []);
    });
    await cluster.kubectl('uncordon', 'process-node-1');
    await cluster.kubectl('delete', 'deployment/spread');
  });

  it('finds its containers again, and learns how those ended that ended meanwhile', async () => {
    const cluster = use();
    const node = nodeOf(cluster, 0);
    const on = { ...sleeper, nodeName: node.name };
    await cluster.apply(
      aPod('stays', on),
      aPod('ends', { ...on, restartPolicy: 'Never', containers: [aShell('sleep 2; echo over; exit 6')] }),
      aPod('deleted', on),
    );
    for (const name of ['stays', 'ends', 'deleted']) await isRunningPod(cluster, name);
    const before = await cluster.pod('stays');
    const folderOf = async (name: string): Promise<string> =>
      join(node.stateDirectory, 'pods', (await cluster.pod(name)).metadata.uid);
    const [kept, gone] = [await folderOf('stays'), await folderOf('deleted')];
    const main = readIdentity(join(kept, 'containers/main/0/main.pid'));
    const orphan = readIdentity(join(gone, 'containers/main/0/main.pid'));
    assert.ok(main && orphan);
    node.process.kill('SIGKILL');
    await node.process.exited();
    await cluster.kubectl('delete', 'pod/deleted', '--force', '--grace-period=0', '--wait=false');
    await eventually(() => assert.ok(readdirSync(join(node.stateDirectory, 'pods')).length > 0));
    assert.ok(isAlive(main) && isAlive(orphan));
    await node.process.start();
    const ended = await eventually(async () => {
      const pod = await cluster.pod('ends');
      assert.equal(pod.status?.phase, 'Failed');
      return pod;
    });
    assert.equal(ended.status?.containerStatuses?.[0]?.state.terminated?.exitCode, 6);
    await eventually(() => assert.deepEqual([isAlive(orphan), existsSync(gone)], [false, false]));
    await throughout(1500, async () => {
      const now = await cluster.pod('stays');
      assert.deepEqual(now.status?.containerStatuses, before.status?.containerStatuses);
      assert.equal(now.status?.podIP, before.status?.podIP);
      assert.ok(isAlive(main));
    });
    assert.equal(await cluster.kubectl('logs', 'ends'), 'over\n');
    await cluster.kubectl('delete', 'pod/stays', '--timeout=60s');
    assert.equal(isAlive(main), false);
  });

  it('restarts a container whose process and shim were killed', async () => {
    const cluster = use();
    const node = nodeOf(cluster, 0);
    await cluster.apply(aPod('shot', { ...sleeper, nodeName: node.name }));
    await isRunningPod(cluster, 'shot');
    const folder = join(node.stateDirectory, 'pods', (await cluster.pod('shot')).metadata.uid, 'containers/main/0');
    for (const name of ['shim', 'main']) process.kill(readIdentity(join(folder, `${name}.pid`))?.pid ?? 0, 'SIGKILL');
    await eventually(async () => {
      const [container] = (await cluster.pod('shot')).status?.containerStatuses ?? [];
      assert.equal(container?.restartCount, 1);
      assert.ok(container.state.running);
      assert.equal(container.lastState.terminated?.exitCode, 137);
    });
    await cluster.kubectl('delete', 'pod/shot', '--timeout=60s');
  });

  it('goes on after a restart of the API server', async () => {
    const cluster = use();
    await cluster.apply(aPod('over', { ...sleeper, nodeName: 'process-node-0' }));
    await isRunningPod(cluster, 'over');
    const before = await cluster.pod('over');
    await cluster.controlPlane.apiServer.restart();
    await cluster.apply(aPod('next', { ...sleeper, nodeName: 'process-node-0' }));
    await eventually(() => isRunningPod(cluster, 'next'), 60_000);
    assert.deepEqual((await cluster.pod('over')).status?.containerStatuses, before.status?.containerStatuses);
    await cluster.kubectl('delete', 'pod/over', 'pod/next', '--timeout=60s');
  });
});

describe('a process node whose starter is killed', () => {
  it('leaves neither processes nor folder', async () => {
    const local = join(import.meta.dirname, '../../hack/local');
    const directory = await killAfterFirstLine(`
      import { startControlPlane } from '${local}/control-plane.ts';
      import { startProcessNode } from '${local}/node/start-node.ts';
      import { existsSync, globSync } from 'node:fs';
      const controlPlane = await startControlPlane({ progress: () => undefined });
      const images = [{ match: 'shell', entrypoint: ['sh', '-c'], path: [], env: {} }];
      const node = await startProcessNode(controlPlane, { images });
      const metadata = { name: 'left' };
      const container = { name: 'main', image: 'shell', args: ['sleep 10000 & exec sleep 10000'] };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container] } };
      await controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(pod) });
      await controlPlane.kubectlRun(['wait', '--for=condition=Ready', 'pod/left', '--timeout=60s']);
      const [file] = globSync(node.stateDirectory + '/pods/*/containers/main/0/main.pid');
      console.log(node.stateDirectory + ' ' + file);
      setInterval(() => undefined, 1000);
    `);
    const [folder = '', file = ''] = directory.split(' ');
    assert.match(file, /main\.pid$/);
    await eventually(() => {
      assert.equal(existsSync(folder), false);
      assert.deepEqual(processesOf(folder).filter(isRunning), []);
    });
  });
});
