import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Condition, Pod } from '../../hack/local/node/pod.ts';
import { eventually } from '../support/eventually.ts';
import { aPod, aShell, useNodes } from '../support/use-nodes.ts';

function verdicts(pod: Pod): Readonly<Record<string, string>> {
  return Object.fromEntries((pod.status?.conditions ?? []).map(({ type, status }: Condition) => [type, status]));
}

function reasonOf(pod: Pod, type: string): string | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type)?.reason;
}

const atOnce = { terminationGracePeriodSeconds: 1 };

describe('a pod on a process node', () => {
  const use = useNodes({ timings: { refreshMs: 300, tokenAgeMs: 2000 } });

  const reaches = (name: string, phase: string): Promise<Pod> =>
    eventually(async () => {
      const pod = await use().pod(name);
      assert.equal(pod.status?.phase, phase);
      return pod;
    });
  const folderOf = ({ metadata }: Pod): string => join(use().nodes[0]?.stateDirectory ?? '', 'pods', metadata.uid);
  const logs = (name: string, ...more: readonly string[]): Promise<string> => use().kubectl('logs', name, ...more);

  it('gets command, arguments and environment as the manifest says', async () => {
    const cluster = use();
    await cluster.apply(
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'env' },
        stringData: { password: 'hunter2', USER_NAME: 'ann' },
      },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'env' }, data: { colour: 'blue' } },
      aPod('environment', {
        restartPolicy: 'Never',
        containers: [
          {
            name: 'main',
            image: 'test/shell',
            command: [
              'sh',
              '-c',
              'echo "$0 $PASSWORD $COLOUR $P_USER_NAME $NAME@$NODE $CPU $MEMORY $HOSTNAME"; pwd',
              '$(GREETING)',
            ],
            workingDir: '/usr/share',
            resources: { limits: { cpu: '1500m', memory: '64Mi' } },
            envFrom: [{ prefix: 'P_', secretRef: { name: 'env' } }],
            env: [
              { name: 'WHO', value: 'world' },
              { name: 'GREETING', value: 'hello $(WHO) $(UNSET) $$(WHO)' },
              { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'env', key: 'password' } } },
              { name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'env', key: 'colour' } } },
              { name: 'ABSENT', valueFrom: { configMapKeyRef: { name: 'env', key: 'no', optional: true } } },
              { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
              { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
              { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
              { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
            ],
          },
        ],
      }),
    );
    await reaches('environment', 'Succeeded');
    assert.deepEqual((await logs('environment')).split('\n'), [
      'hello world $(UNSET) $(WHO) hunter2 blue ann environment@192.0.2.1 2 64 environment',
      '/usr/share',
      '',
    ]);
  });

  it('sees its volumes at their paths, and changes of their content', async () => {
    const cluster = use();
    const config = (text: string): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'files' },
      data: { 'a.txt': text, 'b.txt': 'b' },
    });
    const script = [
      'cat /etc/of/this/pod/a.txt /single/renamed /info/labels; ls -A /private; echo 1 > /scratch/x; cat /scratch/x',
      'touch /etc/of/this/pod/new 2>/dev/null || echo read-only',
      'until [ "$(cat /etc/of/this/pod/a.txt)" = after ]; do sleep 0.1; done; echo changed',
    ].join('\n');
    await cluster.apply(
      config('before'),
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'files' }, stringData: { key: 's3cret' } },
      aPod(
        'volumes',
        {
          restartPolicy: 'Never',
          containers: [
            aShell(script, {
              volumeMounts: [
                { name: 'config', mountPath: '/etc/of/this/pod' },
                { name: 'config', mountPath: '/single/renamed', subPath: 'b.txt' },
                { name: 'secret', mountPath: '/private' },
                { name: 'scratch', mountPath: '/scratch' },
                { name: 'info', mountPath: '/info' },
              ],
            }),
          ],
          volumes: [
            { name: 'config', configMap: { name: 'files' } },
            { name: 'secret', secret: { secretName: 'files', items: [{ key: 'key', path: 'k' }] } },
            { name: 'scratch', emptyDir: {} },
            { name: 'info', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
          ],
        },
        { labels: { tier: 'one' } },
      ),
    );
    await eventually(async () => assert.match(await logs('volumes'), /read-only/));
    assert.match(await logs('volumes'), /^beforebtier="one"/);
    await cluster.apply(config('after'));
    await reaches('volumes', 'Succeeded');
    assert.match(await logs('volumes', '--tail=1'), /^changed$/m);
  });

  it('has a token of its service account that the API server accepts, and gets another in time', async () => {
    const cluster = use();
    await cluster.kubectl('create', 'serviceaccount', 'reader');
    const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
    const script = `
      const { readFileSync } = require('node:fs');
      const { request } = require('node:https');
      const file = (name) => readFileSync('${folder}/' + name, 'utf8');
      const first = file('token');
      const ask = () => request({
        host: process.env.KUBERNETES_SERVICE_HOST, port: process.env.KUBERNETES_SERVICE_PORT, ca: file('ca.crt'),
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews', method: 'POST',
        headers: { authorization: 'Bearer ' + file('token'), 'content-type': 'application/json' },
      }, (answer) => {
        let text = '';
        answer.on('data', (part) => text += part).on('end', () => {
          const { username } = JSON.parse(text).status.userInfo;
          console.log(username, file('namespace'), file('token') === first ? 'same' : 'rotated');
          if (file('token') !== first) process.exit(0);
          setTimeout(ask, 300);
        });
      }).end('{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}');
      ask();`;
    const container = { name: 'main', image: 'test/node', args: [script] };
    await cluster.apply(
      aPod('token', { serviceAccountName: 'reader', restartPolicy: 'Never', containers: [container] }),
    );
    await reaches('token', 'Succeeded');
    const lines = (await logs('token')).trim().split('\n');
    assert.equal(lines[0], 'system:serviceaccount:default:reader default same');
    assert.equal(lines.at(-1), 'system:serviceaccount:default:reader default rotated');
  });

  it('runs init containers one after the other, keeps sidecars for the others, and is then initialized', async () => {
    const cluster = use();
    const mounts = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
    const wait = 'until [ -f /shared/go ]; do sleep 0.1; done; echo one >> /shared/order';
    const sidecar =
      'trap "echo end >> /shared/order; exit 0" TERM; echo side >> /shared/order; while :; do sleep 0.1; done';
    await cluster.apply(
      aPod('ordered', {
        ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 10 },
        initContainers: [
          { ...aShell(wait, mounts), name: 'first' },
          {
            ...aShell(sidecar, mounts),
            name: 'side',
            restartPolicy: 'Always',
            startupProbe: { exec: { command: ['grep', 'side', '/shared/order'] }, periodSeconds: 1 },
          },
          { ...aShell('echo two >> /shared/order', mounts), name: 'second' },
        ],
        containers: [aShell('echo main >> /shared/order; cat /shared/order', mounts)],
        volumes: [{ name: 'shared', emptyDir: {} }],
      }),
    );
    await eventually(async () => {
      const pod = await cluster.pod('ordered');
      assert.equal(pod.status?.phase, 'Pending');
      assert.equal(pod.status.initContainerStatuses?.[0]?.state.running === undefined, false);
      assert.deepEqual(verdicts(pod), {
        ...{ PodScheduled: 'True', PodReadyToStartContainers: 'True', Initialized: 'False' },
        ...{ ContainersReady: 'False', Ready: 'False' },
      });
      assert.equal(reasonOf(pod, 'Initialized'), 'ContainersNotInitialized');
      assert.equal(pod.status.containerStatuses?.[0]?.state.waiting?.reason, 'PodInitializing');
    });
    const shared = join(folderOf(await cluster.pod('ordered')), 'volumes/shared');
    writeFileSync(`${shared}/go`, '');
    const pod = await reaches('ordered', 'Succeeded');
    assert.equal(await logs('ordered', '-c', 'main'), 'one\nside\ntwo\nmain\n');
    await eventually(() => assert.match(readFileSync(`${shared}/order`, 'utf8'), /main\nend\n$/));
    assert.equal(reasonOf(pod, 'Initialized'), 'PodCompleted');
    assert.equal(reasonOf(pod, 'Ready'), 'PodCompleted');
    assert.equal(verdicts(pod)['Ready'], 'False');
  });

  it('is ready while its readiness probes succeed', async () => {
    const cluster = use();
    const script = `
      const { createServer } = require('node:http');
      let ready = false;
      createServer((request, response) => {
        if (request.method === 'POST') ready = !ready;
        response.writeHead(ready ? 200 : 503).end();
      }).listen(8080);`;
    const readinessProbe = { httpGet: { path: '/', port: 'web' }, periodSeconds: 1, failureThreshold: 1 };
    const ports = [{ name: 'web', containerPort: 8080 }];
    await cluster.apply(
      aPod('probed', {
        ...atOnce,
        containers: [
          { name: 'main', image: 'test/node', args: [script], ports, readinessProbe },
          { ...aShell('exec sleep 10000'), name: 'other' },
        ],
      }),
    );
    await eventually(async () => {
      assert.ok((await cluster.events('probed')).includes('Unhealthy'));
      const pod = await cluster.pod('probed');
      assert.equal(pod.status?.phase, 'Running');
      assert.equal(reasonOf(pod, 'Ready'), 'ContainersNotReady');
      const message = pod.status.conditions?.find(({ type }) => type === 'ContainersReady')?.message;
      assert.equal(message, 'containers with unready status: [main]');
    });
    const toggle = async (): Promise<void> => {
      const { podIP = '' } = (await cluster.pod('probed')).status ?? {};
      const { host, port } = cluster.network.resolve(podIP, 8080);
      // It is Unhealthy before it listens, too.
      await eventually(() => fetch(`http://${host}:${port}/`, { method: 'POST' }));
    };
    for (const expected of ['True', 'False']) {
      await toggle();
      await eventually(async () => assert.equal(verdicts(await cluster.pod('probed'))['Ready'], expected));
    }
    await cluster.kubectl('delete', 'pod/probed', '--timeout=60s');
  });

  it('restarts a container whose liveness probe fails, after its preStop hook and SIGTERM', async () => {
    const cluster = use();
    const script = 'trap "echo asked; exit 0" TERM; echo begun; touch /life/yes; while :; do sleep 0.1; done';
    await cluster.apply(
      aPod('alive', {
        terminationGracePeriodSeconds: 5,
        containers: [
          aShell(script, {
            volumeMounts: [{ name: 'life', mountPath: '/life' }],
            // However long the container takes until it can be asked to end.
            startupProbe: { exec: { command: ['test', '-f', '/life/yes'] }, periodSeconds: 1, failureThreshold: 100 },
            livenessProbe: { exec: { command: ['rm', '/life/yes'] }, periodSeconds: 1, failureThreshold: 1 },
            lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo "in the hook" > /life/hook'] } } },
          }),
        ],
        volumes: [{ name: 'life', emptyDir: {} }],
      }),
    );
    const pod = await eventually(async () => {
      const seen = await cluster.pod('alive');
      assert.ok((seen.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
      return seen;
    });
    assert.equal(pod.status?.containerStatuses?.[0]?.lastState.terminated?.exitCode, 0);
    assert.match(await logs('alive', '--previous'), /^begun\nasked\n$/);
    assert.equal(readFileSync(join(folderOf(pod), 'volumes/life/hook'), 'utf8'), 'in the hook\n');
    assert.ok((await cluster.events('alive')).includes('Killing'));
    await cluster.kubectl('delete', 'pod/alive', '--timeout=60s');
  });

  it('reports exit code, reason and message of how a container ended', async () => {
    const cluster = use();
    await cluster.apply(
      aPod('message', {
        restartPolicy: 'Never',
        containers: [
          aShell('echo "the disk is full" > /dev/termination-log; exit 3'),
          {
            ...aShell('echo "only in the log"; exit 4', { terminationMessagePolicy: 'FallbackToLogsOnError' }),
            name: 'logged',
          },
        ],
      }),
    );
    const pod = await reaches('message', 'Failed');
    const ends = pod.status?.containerStatuses?.map(({ state }) => state.terminated);
    assert.deepEqual(
      ends?.map((end) => [end?.exitCode, end?.reason, end?.message]),
      [
        [3, 'Error', 'the disk is full\n'],
        [4, 'Error', 'only in the log\n'],
      ],
    );
    assert.equal(reasonOf(pod, 'Ready'), 'PodFailed');
  });

  it('gets SIGTERM and the grace to end in, then SIGKILL', async () => {
    const cluster = use();
    const deaf = 'trap "" TERM; echo up; while :; do sleep 0.1; done';
    await cluster.apply(aPod('deaf', { terminationGracePeriodSeconds: 5, containers: [aShell(deaf)] }));
    await eventually(async () => assert.equal(await logs('deaf'), 'up\n'));
    await cluster.kubectl('delete', 'pod/deaf', '--wait=false');
    const pod = await cluster.pod('deaf');
    assert.equal(pod.status?.containerStatuses?.[0]?.state.terminated, undefined);
    await cluster.kubectl('wait', '--for=delete', 'pod/deaf', '--timeout=60s');
  });

  it('goes at once when it is deleted by force', async () => {
    const cluster = use();
    const deaf = 'trap "" TERM; while :; do sleep 0.1; done';
    await cluster.apply(aPod('forced', { terminationGracePeriodSeconds: 600, containers: [aShell(deaf)] }));
    const folder = folderOf(await reaches('forced', 'Running'));
    await cluster.kubectl('delete', 'pod/forced', '--force', '--grace-period=0', '--timeout=60s');
    await eventually(() => assert.equal(existsSync(folder), false));
  });

  it('fails when it is active for longer than it may', async () => {
    const cluster = use();
    // The start of a pod is known to the second, so a deadline of 1 may pass before the container runs.
    const spec = { ...atOnce, activeDeadlineSeconds: 5, containers: [aShell('exec sleep 10000')] };
    await cluster.apply(aPod('deadline', spec));
    const pod = await reaches('deadline', 'Failed');
    assert.equal(pod.status?.reason, 'DeadlineExceeded');
    assert.equal(pod.status.containerStatuses?.[0]?.state.terminated?.exitCode, 143);
  });

  it('waits for a node that has the resources it requests', async () => {
    const cluster = use();
    const container = aShell('exec sleep 10000', { resources: { requests: { cpu: '1000' } } });
    await cluster.apply(aPod('greedy', { ...atOnce, containers: [container] }));
    await eventually(async () => {
      const pod = await cluster.pod('greedy');
      assert.equal(pod.spec.nodeName, undefined);
      assert.equal(reasonOf(pod, 'PodScheduled'), 'Unschedulable');
    });
  });

  it('lets its output be followed', async () => {
    const cluster = use();
    const script = 'for i in 1 2 3; do echo line $i; sleep 0.3; done';
    await cluster.apply(aPod('talks', { restartPolicy: 'Never', containers: [aShell(script)] }));
    await eventually(async () => assert.match(await logs('talks'), /line 1/));
    assert.equal(await logs('talks', '--follow'), 'line 1\nline 2\nline 3\n');
    assert.equal(await logs('talks', '--tail=2'), 'line 2\nline 3\n');
  });
});
