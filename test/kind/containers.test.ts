// What only containers under a real kubelet have: users, read-only file systems, limits, names, network policies, nodes that
// are drained. Runs on the cluster that E2E_KUBECONFIG names (hack/kind/test), which needs two nodes.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from '../../hack/local/run-command.ts';
import { eventually } from '../support/eventually.ts';
import { applyOnly, type Creates, createsOf, modelIn, modelResource, rowsInPod } from '../support/in-kind.ts';
import { overlayOf } from '../support/overlay-of.ts';
import { underLoad } from '../support/under-load.ts';
import { type Installed, useInstalled } from '../support/use-installed.ts';

const system = 'ingester-system';
/** One for each run: rows stay. */
const namespace = `containers-${Date.now().toString(36)}`;
const models = 'models.michelangelo.api';
const roles = ['webhook', 'reconciler'] as const;

const aModel = (name: string): object => modelIn(namespace, name);

/** Runs a script of Node in a pod of the role: there is nothing else in it to run. */
function inPod(bundle: Installed, role: string, script: string): Promise<string> {
  return bundle.kubectl('exec', '-n', system, `deployment/ingester-${role}`, '--', 'node', '--eval', script);
}

async function settled(bundle: Installed): Promise<void> {
  for (const role of roles) {
    await bundle.kubectl('rollout', 'status', '-n', system, `deployment/ingester-${role}`, '--timeout=240s');
  }
}

describe('the bundle in containers', { skip: process.env['E2E_KUBECONFIG'] === undefined && 'needs a cluster' }, () => {
  const use = useInstalled();
  before(() => use().apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }));
  after(() => use().tryKubectl('delete', 'namespace', namespace, '--timeout=120s'));

  it('runs where the restricted pod security standard is enforced, and a privileged pod is refused', async () => {
    const labels = await use().kubectl('get', 'namespace', system, '-o', 'jsonpath={.metadata.labels}');
    assert.match(labels, /"pod-security.kubernetes.io\/enforce":"restricted"/);
    await settled(use());
    const privileged = { name: 'one', image: 'any', securityContext: { privileged: true } };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'privileged', namespace: system } };
    await assert.rejects(
      use().apply({ ...pod, spec: { containers: [privileged] } }),
      /violates PodSecurity "restricted/,
    );
  });

  for (const role of roles) {
    it(`the ${role} has neither root, nor a capability, nor a shell, and cannot write to its image`, async () => {
      const read = 'require("fs").readFileSync("/proc/self/status", "utf8")';
      const status = await inPod(use(), role, `console.log(${read})`);
      assert.match(status, /^Uid:\t65532\t65532\t65532\t65532$/m);
      assert.match(status, /^CapEff:\t0+$/m);
      assert.match(status, /^CapBnd:\t0+$/m);
      assert.match(status, /^NoNewPrivs:\t1$/m);
      assert.match(status, /^Seccomp:\t2$/m);
      const write = 'try { require("fs").writeFileSync("/app/x", "") } catch ({ code }) { console.log(code) }';
      assert.equal((await inPod(use(), role, write)).trim(), 'EROFS');
      const shell = await use().tryKubectl(
        'exec',
        '-n',
        system,
        `deployment/ingester-${role}`,
        '--',
        'sh',
        '-c',
        'true',
      );
      assert.notEqual(shell.code, 0);
    });

    it(`the ${role} is limited to the memory that its manifest says`, async () => {
      const [container] = ['{.spec.template.spec.containers[0].resources.limits.memory}'];
      const path = `jsonpath=${container}`;
      const limit = await use().kubectl('get', '-n', system, `deployment/ingester-${role}`, '-o', path);
      const files = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];
      const find = `const fs = require("fs"); const f = ${JSON.stringify(files)}.find((f) => fs.existsSync(f));`;
      const bytes = Number(await inPod(use(), role, `${find} console.log(fs.readFileSync(f, "utf8"))`));
      const units: Readonly<Record<string, number>> = { Mi: 2 ** 20, Gi: 2 ** 30 };
      const [, amount, unit = ''] = /^(\d+)(\w+)$/.exec(limit) ?? [];
      assert.equal(bytes, Number(amount) * (units[unit] ?? Number.NaN), limit);
    });
  }

  for (const role of roles) {
    it(`the ${role} is ready within ten seconds of its start`, async (context) => {
      const path = 'jsonpath={.spec.template.spec.containers[0].args}';
      const args = JSON.parse(
        await use().kubectl('get', '-n', system, `deployment/ingester-${role}`, '-o', path),
      ) as string[];
      const took: number[] = [];
      for (let start = 0; start < 3; start += 1) took.push(Number(await inPod(use(), role, timedStart(args))));
      context.diagnostic(`ready_ms of the ${role} in its container: ${took.join(', ')}`);
      for (const ms of took) assert.ok(ms > 0 && ms < 10_000, `${ms} ms`);
    });
  }

  it('finds Services by the names of the cluster', async () => {
    const lookup = 'require("dns").lookup("mysql.mysql.svc", (error, address) => console.log(error?.code ?? address))';
    const address = (await inPod(use(), 'reconciler', lookup)).trim();
    const service = await use().kubectl('get', 'service', '-n', 'mysql', 'mysql', '-o', 'jsonpath={.spec.clusterIP}');
    assert.equal(address, service);
  });

  it('is not restarted by its probes while nothing is wrong', async () => {
    const counts = async (): Promise<ReadonlyMap<string, string>> => {
      const path = '{range .items[*]}{.metadata.name} {.status.containerStatuses[*].restartCount}{"\\n"}{end}';
      const text = await use().kubectl('get', 'pods', '-n', system, '-o', `jsonpath=${path}`);
      return new Map(
        text
          .trim()
          .split('\n')
          .map((line): [string, string] => [line.split(' ')[0] ?? '', line]),
      );
    };
    const before = await counts();
    await delay(30_000);
    // One of a rollout before may have gone meanwhile.
    const after = await counts();
    assert.ok(after.size > 3);
    for (const [name, count] of after) assert.equal(count, before.get(name));
  });

  it('stores objects of a mebibyte, and lists them anew, within its memory', async () => {
    const bundle = use();
    const many = 60;
    for (let index = 0; index < many; index += 1) {
      const large = { ...aModel(`large-${index}`), spec: { description: 'x'.repeat(2 ** 20) } };
      await bundle.client.create(modelResource, namespace, large);
    }
    await eventually(async () => assert.equal(await rowsInPod(bundle, namespace, 'large-%'), many));
    await bundle.kubectl('rollout', 'restart', '-n', system, 'deployment/ingester-reconciler');
    await settled(bundle);
    await bundle.apply(aModel('after-large'));
    await eventually(async () => assert.equal(await rowsInPod(bundle, namespace, 'after-large'), 1));
    await bundle.kubectl('delete', models, '-n', namespace, '--all', '--timeout=240s');
    const ends = 'jsonpath={.items[*].status.containerStatuses[*].lastState.terminated.reason}';
    assert.doesNotMatch(await bundle.kubectl('get', 'pods', '-n', system, '-o', ends), /OOMKilled/);
  });

  it('stores what was written while the pod of MySQL was killed', async () => {
    const bundle = use();
    await bundle.kubectl('delete', 'pod', '-n', 'mysql', 'mysql-0', '--grace-period=0', '--force');
    await bundle.apply(aModel('while-killed'));
    await bundle.apply(aModel('deleted-while-killed'));
    await bundle.kubectl('delete', models, '-n', namespace, 'deleted-while-killed', '--wait=false');
    await bundle.kubectl('rollout', 'status', '-n', 'mysql', 'statefulset/mysql', '--timeout=240s');
    const gone = ['wait', '-n', namespace, '--for=delete', `${models}/deleted-while-killed`, '--timeout=120s'] as const;
    await bundle.kubectl(...gone);
    await eventually(async () => assert.equal(await rowsInPod(bundle, namespace, 'while-killed'), 1));
    assert.equal(await rowsInPod(bundle, namespace, 'deleted-while-killed'), 1);
  });

  it('lets through what the network policies name, and nothing else', async () => {
    const bundle = use();
    const overlay = overlayOf(bundle.overlay, undefined, ['network-policy']);
    const policies = ['-n', system, 'networkpolicies', '-l', 'app.kubernetes.io/name=michelangelo-ingester'] as const;
    const dns = 'kube-dns.kube-system.svc';
    const connect = (port: number, host = 'mysql.mysql.svc'): string =>
      `const s = require("net").connect({ host: "${host}", port: ${port}, timeout: 3000 });` +
      // What enforces policies drops what they do not name, or refuses it.
      's.on("connect", () => { console.log("open"); s.destroy() }).on("timeout", () => s.destroy(new Error("time")))' +
      '.on("error", () => console.log("shut"))';
    assert.equal(await fromMysql(bundle, 'webhook', 8081), 'open');
    // The metrics of CoreDNS, which no policy names.
    assert.equal((await inPod(bundle, 'reconciler', connect(9153, dns))).trim(), 'open');
    try {
      await applyOnly(bundle, overlay, 'NetworkPolicy');
      await eventually(async () => assert.equal((await inPod(bundle, 'reconciler', connect(3306))).trim(), 'open'));
      await eventually(async () =>
        assert.equal((await inPod(bundle, 'reconciler', connect(9153, dns))).trim(), 'shut'),
      );
      await bundle.apply(aModel('with-policies'));
      await eventually(async () => assert.equal(await rowsInPod(bundle, namespace, 'with-policies'), 1));

      // Into the pods: metrics from namespaces with the label, and the webhook from everywhere.
      const [labelled] = ['ingester.michelangelo.api/metrics'];
      await eventually(async () => assert.equal(await fromMysql(bundle, 'webhook', 8081), 'shut'));
      assert.equal(await fromMysql(bundle, 'webhook', 9443), 'open');
      await bundle.kubectl('label', 'namespace', 'mysql', `${labelled}=true`);
      await eventually(async () => assert.equal(await fromMysql(bundle, 'webhook', 8081), 'open'));
      await bundle.kubectl('label', 'namespace', 'mysql', `${labelled}-`);
    } finally {
      await bundle.kubectl('delete', ...policies);
      overlay.remove();
    }
  });

  const creating = (name: string): Creates => createsOf(use, namespace, name);
  const webhookPods = ['-n', system, '-l', 'app.kubernetes.io/component=webhook'] as const;

  it('refuses nothing, and stores all, while it goes to another image and back under 100 creates a second', async () => {
    const bundle = use();
    const images = (): Promise<string> =>
      bundle.kubectl('get', 'pods', ...webhookPods, '-o', 'jsonpath={.items[*].status.containerStatuses[*].imageID}');
    const ofRelease = new Set((await images()).split(' '));
    const overlay = overlayOf(bundle.overlay, 'next');
    try {
      const { call, stored, kept } = creating('rolled');
      const wrong = await underLoad(call, async () => {
        await applyOnly(bundle, overlay, 'Deployment');
        await settled(bundle);
        await eventually(async () => {
          for (const one of (await images()).split(' ')) assert.ok(!ofRelease.has(one), one);
        });
        await bundle.kubectl('rollout', 'undo', '-n', system, 'deployment/ingester-webhook');
        await bundle.kubectl('rollout', 'undo', '-n', system, 'deployment/ingester-reconciler');
        await settled(bundle);
      });
      assert.deepEqual(wrong, []);
      assert.ok(kept.count > 20, `${kept.count} objects were kept`);
      await stored();
    } finally {
      overlay.remove();
    }
  });

  it('refuses nothing, and stores all, while its node is drained under 100 creates a second', async () => {
    const bundle = use();
    const overlay = overlayOf(bundle.overlay, undefined, ['ha']);
    try {
      await applyOnly(bundle, overlay, 'PodDisruptionBudget', 'Deployment');
      await settled(bundle);
      const node = await bundle.kubectl('get', 'pods', ...webhookPods, '-o', 'jsonpath={.items[0].spec.nodeName}');
      const { call, stored, kept } = creating('drained');
      const wrong = await underLoad(call, async () => {
        const drain = ['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=240s'] as const;
        await bundle.kubectl(...drain, '--pod-selector', 'app.kubernetes.io/name=michelangelo-ingester');
        await settled(bundle);
      });
      await bundle.kubectl('uncordon', node);
      assert.deepEqual(wrong, []);
      assert.ok(kept.count > 20, `${kept.count} objects were kept`);
      await stored();
    } finally {
      overlay.remove();
    }
  });

  it('works again when a node was restarted, and stores what was written meanwhile', async () => {
    const bundle = use();
    // In kind a node is the container of its name.
    const control = 'node-role.kubernetes.io/control-plane';
    const names = await bundle.kubectl('get', 'nodes', '-l', `!${control}`, '-o', 'jsonpath={.items[*].metadata.name}');
    const [node = ''] = names.split(' ');
    const restarting = runCommand('docker', ['restart', node]);
    // Calls of the API server to replicas of that node fail until they are back.
    await eventually(() => bundle.apply(aModel('while-restarted')), 240_000);
    assert.equal((await restarting).code, 0);
    await eventually(async () => {
      const pods = [
        'get',
        'pods',
        '-A',
        '--field-selector',
        `spec.nodeName=${node},status.phase=Running`,
        '-o',
      ] as const;
      const ready = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
      assert.doesNotMatch(await bundle.kubectl(...pods, ready), /False/);
      for (let call = 0; call < 20; call += 1) assert.equal(await creating('probe').call(10 * call + 1), undefined);
    }, 240_000);
    await settled(bundle);
    await bundle.apply(aModel('after-restart'));
    await eventually(async () => assert.equal(await rowsInPod(bundle, namespace, 'while-restarted'), 1), 120_000);
    await eventually(async () => assert.equal(await rowsInPod(bundle, namespace, 'after-restart'), 1), 120_000);
  });
});

/** Starts the role once more beside the one that runs, until it is ready, and prints how many milliseconds that took. */
function timedStart(args: readonly string[]): string {
  const addresses = {
    INGESTER_SERVER_BIND_ADDRESS: '127.0.0.1:19443',
    INGESTER_HEALTH_BIND_ADDRESS: '127.0.0.1:18081',
  };
  return `
    const options = { env: { ...process.env, ...${JSON.stringify(addresses)} }, stdio: ["ignore", "ignore", "inherit"] };
    const started = performance.now();
    const child = require("child_process").spawn("ingester", ${JSON.stringify(args)}, options);
    child.on("exit", () => process.exit());
    const isReady = () => fetch("http://127.0.0.1:18081/readyz").then(({ ok }) => ok, () => false);
    (async () => {
      while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, 5));
      console.log(Math.round(performance.now() - started));
      child.kill();
    })();`;
}

/** Whether the pod of MySQL, which has a shell, gets through to a pod of the role. */
async function fromMysql(bundle: Installed, role: string, port: number): Promise<'open' | 'shut'> {
  const pods = ['get', 'pods', '-n', system, '-l', `app.kubernetes.io/component=${role}`] as const;
  const address = await bundle.kubectl(...pods, '-o', 'jsonpath={.items[0].status.podIP}');
  const connect = ['timeout', '3', 'bash', '-c', `exec 3<>/dev/tcp/${address}/${port}`];
  const { code } = await bundle.tryKubectl('exec', '-n', 'mysql', 'mysql-0', '--', ...connect);
  return code === 0 ? 'open' : 'shut';
}
