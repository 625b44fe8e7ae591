// An Ingester resource and its children on the real API server, without pods: what the schema refuses and fills in, which
// children stay while tasks run, and kinds of children whose definitions come later.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { INGESTER_CRD } from '../../hack/generate/crds/ingester.ts';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import { isJsonObject, valueAt } from '../../src/base/json.ts';
import { type ChildKind, childKinds, jobKind } from '../../src/lifecycle/children/kinds.ts';
import { contentTypes } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { type LifecycleHarness, useLifecycleHarness } from '../support/lifecycle-harness.ts';
import { httpRouteSpec, serviceMonitorSpec } from '../support/optional-definitions.ts';

const crd = join(import.meta.dirname, `../../crds/ingester/${INGESTER_CRD}.yaml`);
const use = useLifecycleHarness();

const database = { credentialsSecret: 'ingester-mysql' };
const query = { certificateSecret: 'ingester-tls' };
const hosts = ['stored.example.com'];
const snapshots = { database: 'snapshots' };
const restore = { snapshot: 's', nonce: 'n', replaceDataOf: 'd' };
const noTasks = { migrate: { disabled: true }, init: { disabled: true } };

/** A rule by what it says, what it refuses, and what is nearest to that and allowed. */
const rules: readonly (readonly [message: string, wrong: object, right: object])[] = [
  [
    'minReplicas must not be above maxReplicas',
    { components: { sync: { autoscaling: { minReplicas: 3, maxReplicas: 2 } } } },
    { components: { sync: { autoscaling: { minReplicas: 2, maxReplicas: 2 } } } },
  ],
  [
    'with active All there are at most 16 replicas',
    { components: { sync: { active: 'All', replicas: 17 } } },
    { components: { sync: { active: 'All', replicas: 16 } } },
  ],
  [
    'set exactly one of minAvailable and maxUnavailable',
    { components: { sync: { disruptionBudget: { minAvailable: 1, maxUnavailable: 1 } } } },
    { components: { sync: { disruptionBudget: { minAvailable: 1 } } } },
  ],
  [
    'set exactly one of ingress and httpRoute',
    { networking: { hosts, ingress: {}, httpRoute: { parentRefs: [{ name: 'g' }] } } },
    { networking: { hosts, ingress: {} } },
  ],
  [
    'every clone after the first one finds data; a schedule needs replaceDataOf, the name of the database',
    { environment: 'Staging', lifecycle: { clone: { sourceSecret: 's', schedule: '0 3 * * *' } } },
    { environment: 'Staging', lifecycle: { clone: { sourceSecret: 's', schedule: '0 3 * * *', replaceDataOf: 'd' } } },
  ],
  [
    'stateMode Savepoint needs snapshots.database',
    { lifecycle: { stateMode: 'Savepoint' } },
    { lifecycle: { stateMode: 'Savepoint', snapshots } },
  ],
  ['restore needs snapshots.database', { lifecycle: { restore } }, { lifecycle: { restore, snapshots } }],
  [
    'restore needs the tasks migrate, which migrates the snapshot to this version, and init, which compares it with the cluster',
    { lifecycle: { restore, snapshots, init: { disabled: true } } },
    { lifecycle: { restore, snapshots, init: { disabled: false } } },
  ],
  [
    'a wait is between 1s and 24h',
    { lifecycle: { migrate: { backoff: { duration: '999ms' } } } },
    { lifecycle: { migrate: { backoff: { duration: '1s' } } } },
  ],
  [
    'duration must not be above maxDuration, which is 5m unless set',
    { lifecycle: { migrate: { backoff: { duration: '10m' } } } },
    { lifecycle: { migrate: { backoff: { duration: '10m', maxDuration: '10m' } } } },
  ],
  [
    'lifecycle.clone overwrites the database; it needs environment Development or Staging',
    { lifecycle: { clone: { sourceSecret: 's' } } },
    { environment: 'Development', lifecycle: { clone: { sourceSecret: 's' } } },
  ],
];

/** Of every rule about one specification; those about a change compare it with the one before. */
function messagesIn(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(messagesIn);
  if (!isJsonObject(schema)) return [];
  const own = schema['x-kubernetes-validations'];
  const here = (Array.isArray(own) ? own : []).flatMap((each) => {
    const { rule, message } = each as { readonly rule: string; readonly message: string };
    return rule.includes('oldSelf') ? [] : [message];
  });
  return [...here, ...Object.values(schema).flatMap(messagesIn)];
}

async function dryRun(harness: LifecycleHarness, more: object): Promise<{ status: number; message: string }> {
  const { status, body } = await harness.api.call({
    method: 'POST',
    path: `/apis/ingester.michelangelo.api/v1/namespaces/${harness.namespace}/ingesters?dryRun=All`,
    body: {
      apiVersion: 'ingester.michelangelo.api/v1',
      kind: 'Ingester',
      metadata: { name: 'one' },
      spec: { version: '1.0.0', database, ...more },
    },
  });
  return { status, message: body.message ?? '' };
}

describe('the schema of an Ingester resource', () => {
  for (const [message, wrong, right] of rules) {
    it(`refuses it without a webhook, and allows what is nearest to it: ${message}`, async () => {
      const harness = await use();
      const refused = await dryRun(harness, wrong);
      assert.equal(refused.status, 422);
      assert.ok(refused.message.includes(message), refused.message);
      const allowed = await dryRun(harness, right);
      assert.equal(allowed.status, 201, allowed.message);
    });
  }

  it('has no rule that is not tried here', () => {
    const messages = messagesIn(parse(readFileSync(crd, 'utf8')));
    assert.deepEqual([...new Set(messages)].sort(), rules.map(([message]) => message).sort());
  });

  it('shows what it fills in, and refuses what is not there, too much, or of another type', async () => {
    const harness = await use();
    await harness.ask({ lifecycle: { ...noTasks, snapshots } });
    const path = `/apis/ingester.michelangelo.api/v1/namespaces/${harness.namespace}/ingesters/one`;
    const { body } = await harness.api.call({ method: 'GET', path });
    const stored = body['spec'] as unknown as IngesterSpec;
    assert.deepEqual([stored.environment, stored.suspend], ['Production', false]);
    assert.deepEqual([stored.lifecycle?.upgradeMode, stored.lifecycle?.snapshots?.keep], ['Automatic', 10]);
    for (const wrong of [
      { database: {} },
      { environment: 'Test' },
      { components: { sync: { replicas: 1001 } } },
      { components: { query: {} } },
      { lifecycle: { jobRetention: 'Never' } },
      { lifecycle: { migrate: { maxAttempts: 0 } } },
    ]) {
      assert.equal((await dryRun(harness, wrong)).status, 422, JSON.stringify(wrong));
    }
  });
});

const present = async (harness: LifecycleHarness, kind: ChildKind, name: string): Promise<boolean> => {
  const found = await harness.find(kind, name);
  // Nothing collects garbage here: what is deleted in the foreground stays, marked.
  return found !== undefined && found.metadata.deletionTimestamp === undefined;
};

/** What the garbage collector does once all dependants are gone. */
async function collect({ client, namespace }: LifecycleHarness, { resource }: ChildKind, name: string): Promise<void> {
  await client.mergePatch({ resource, namespace, name }, { metadata: { finalizers: null } });
}

/** What the Job controller writes when the pod of a Job has ended. */
async function end({ api, namespace }: LifecycleHarness, name: string, how: 'Complete' | 'Failed'): Promise<void> {
  const time = new Date().toISOString();
  const types = how === 'Complete' ? ['SuccessCriteriaMet', how] : ['FailureTarget', how];
  const conditions = types.map((type) => ({ type, status: 'True', lastTransitionTime: time, lastProbeTime: time }));
  const result = how === 'Complete' ? { succeeded: 1, completionTime: time } : { failed: 1 };
  await api.must({
    method: 'PATCH',
    path: `/apis/batch/v1/namespaces/${namespace}/jobs/${name}/status`,
    body: { status: { startTime: time, conditions, ...result } },
    contentType: contentTypes.merge,
  });
}

/** A pod such as the ReplicaSet of a component makes; the path that it is found at. */
async function aPodOf({ api, namespace }: LifecycleHarness, component: string): Promise<string> {
  const core = `/api/v1/namespaces/${namespace}`;
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  await api.call({ method: 'POST', path: `${core}/serviceaccounts`, body: account });
  const name = `one-${component}-5d8f-x`;
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: `one-${component}-5d8f`,
    uid: 'r',
    controller: true,
  };
  const labels = { 'michelangelo/ingester': 'one', 'app.kubernetes.io/component': component };
  const containers = [{ name: 'c', image: 'any' }];
  const metadata = { name, labels, ownerReferences: [owner] };
  await api.must({
    method: 'POST',
    path: `${core}/pods`,
    body: { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } },
  });
  return `${core}/pods/${name}`;
}

describe('the children of an Ingester resource', () => {
  const everything: Partial<IngesterSpec> = {
    components: {
      sync: { autoscaling: { maxReplicas: 3 }, disruptionBudget: { maxUnavailable: 1 } },
      query,
    },
    networking: { hosts, ingress: {} },
    networkPolicy: {},
  };

  it('that write and serve go before a migration; what leads to them stays', async () => {
    const harness = await use();
    const workloads = [
      [childKinds.deployment, 'one-sync'],
      [childKinds.deployment, 'one-query'],
      [childKinds.autoscaler, 'one-sync'],
      [childKinds.disruptionBudget, 'one-sync'],
    ] as const;
    const ways = [
      [childKinds.service, 'one-query'],
      [childKinds.ingress, 'one-query'],
      [childKinds.networkPolicy, 'one-sync'],
    ] as const;
    const found = (list: readonly (readonly [ChildKind, string])[]): Promise<readonly boolean[]> =>
      Promise.all(list.map(([kind, name]) => present(harness, kind, name)));
    await harness.ask({ ...everything, lifecycle: noTasks });
    await harness.reconcile(4);
    assert.deepEqual([...(await found(workloads)), ...(await found(ways))], Array(7).fill(true));
    await harness.ask({ ...everything, lifecycle: { init: { disabled: true } } });
    await harness.reconcile(4);
    assert.deepEqual(await found(workloads), Array(4).fill(false));
    assert.deepEqual(await found(ways), Array(3).fill(true));
    // Both Deployments are still there, marked: as long as they are, no task begins.
    assert.equal((await harness.condition('LifecycleComplete')).reason, 'Quiescing');
    assert.equal(await harness.find(jobKind, 'one-migrate'), undefined);
  });

  it('hold up the first task while one of their pods is left, which is told in time, and no longer', async () => {
    const harness = await use();
    await harness.ask({ components: { sync: {} }, lifecycle: noTasks });
    await harness.reconcile(4);
    const pod = await aPodOf(harness, 'sync');
    // The component goes in the same edit.
    const lifecycle = { init: { disabled: true }, quiesceTimeout: '1s' };
    await harness.ask({ components: {}, lifecycle });
    await harness.reconcile(2);
    await collect(harness, childKinds.deployment, 'one-sync');
    await eventually(async () => {
      await harness.reconcile(1);
      assert.equal(await harness.find(childKinds.deployment, 'one-sync'), undefined);
      const { reason, message } = await harness.condition('LifecycleComplete');
      assert.equal(reason, 'QuiesceStuck');
      assert.match(message, /kubectl get pods -l michelangelo\/ingester/);
    }, 30_000);
    assert.equal(await harness.find(jobKind, 'one-migrate'), undefined);
    await harness.api.must({ method: 'DELETE', path: pod, body: { gracePeriodSeconds: 0 } });
    await harness.reconcile(3);
    assert.notEqual(await harness.find(jobKind, 'one-migrate'), undefined);
  });

  it('keep the number of replicas that an autoscaler sets, and no other', async () => {
    const harness = await use();
    await harness.ask({ ...everything, lifecycle: noTasks });
    await harness.reconcile(4);
    const scale = async (name: string, replicas: number): Promise<unknown> => {
      const deployments = `/apis/apps/v1/namespaces/${harness.namespace}/deployments/${name}`;
      const call = { method: 'PATCH', body: { spec: { replicas } }, contentType: contentTypes.merge } as const;
      await harness.api.must({ ...call, path: `${deployments}/scale` });
      await harness.reconcile(2);
      return valueAt(await harness.find(childKinds.deployment, name), ['spec', 'replicas']);
    };
    assert.deepEqual([await scale('one-sync', 2), await scale('one-query', 2)], [2, 1]);
  });

  it('have an autoscaler with the behavior that is asked for, and with that of Kubernetes again afterwards', async () => {
    const harness = await use();
    const ask = async (more: object): Promise<unknown> => {
      const components = { sync: { autoscaling: { maxReplicas: 3, ...more } } };
      await harness.ask({ components, lifecycle: noTasks });
      await harness.reconcile(4);
      const found = await harness.find(childKinds.autoscaler, 'one-sync');
      return valueAt(found, ['spec', 'behavior', 'scaleDown', 'stabilizationWindowSeconds']);
    };
    const behavior = { scaleDown: { stabilizationWindowSeconds: 61 } };
    assert.equal(await ask({ behavior }), 61);
    assert.notEqual(await ask({}), 61);
  });

  it('are listed in the status for each component, with those that are not there', async () => {
    const harness = await use();
    await harness.ask({ ...everything, lifecycle: noTasks });
    await harness.reconcile(5);
    const sync = async () => (await harness.status()).components?.sync;
    assert.deepEqual((await sync())?.objects, [
      ...['ConfigMap/one-sync-config', 'Deployment/one-sync', 'HorizontalPodAutoscaler/one-sync'],
      ...['PodDisruptionBudget/one-sync', 'NetworkPolicy/one-sync'],
    ]);
    assert.equal((await sync())?.missing, undefined);
    await harness.ask({ ...everything, lifecycle: { init: { disabled: true } } });
    await harness.reconcile(4);
    assert.deepEqual((await sync())?.missing, [
      ...['Deployment/one-sync', 'HorizontalPodAutoscaler/one-sync', 'PodDisruptionBudget/one-sync'],
    ]);
  });

  for (const [jobRetention, kept] of [
    ['Delete', []],
    ['Retain', ['one-migrate', 'one-init']],
    ['RetainOnFailure', ['one-init']],
  ] as const) {
    it(`are Jobs of which ${kept.join(' and ') || 'none'} is kept with jobRetention ${jobRetention}, after a final failure too`, async () => {
      const harness = await use();
      await harness.ask({ components: {}, lifecycle: { jobRetention, init: { maxAttempts: 1 } } });
      await eventually(async () => {
        await harness.reconcile(1);
        for (const name of ['one-migrate', 'one-release', 'one-init']) {
          const job = await harness.find(jobKind, name);
          if (job?.metadata.deletionTimestamp !== undefined) await collect(harness, jobKind, name);
          else if (job !== undefined && valueAt(job, ['status', 'conditions']) === undefined)
            await end(harness, name, name === 'one-init' ? 'Failed' : 'Complete');
        }
        assert.equal((await harness.status()).phase, 'Failed');
      }, 30_000);
      await harness.reconcile(2);
      const names = ['one-migrate', 'one-init'];
      const left = await Promise.all(names.map((name) => present(harness, jobKind, name)));
      assert.deepEqual(
        names.filter((_, index) => left[index]),
        kept,
      );
    });
  }

  it('of kinds that are not installed are left out, and made when their definition comes', async () => {
    const harness = await use();
    const optional = {
      ...everything,
      monitoring: {},
      networking: { hosts, httpRoute: { parentRefs: [{ name: 'g' }] } },
    };
    await harness.ask({ ...optional, lifecycle: noTasks });
    await harness.reconcile(4);
    const made = (): Promise<readonly boolean[]> =>
      Promise.all([
        present(harness, childKinds.serviceMonitor, 'one'),
        present(harness, childKinds.httpRoute, 'one-query'),
        present(harness, childKinds.networkPolicy, 'one-query'),
      ]);
    assert.deepEqual(await made(), [false, false, true]);
    const missing = async (): Promise<readonly unknown[]> => {
      const { components = {} } = await harness.status();
      return [components.sync?.missing, components.query?.missing];
    };
    assert.deepEqual(await missing(), [['ServiceMonitor/one'], ['HTTPRoute/one-query']]);
    for (const [{ resource, kind }, spec] of [
      [childKinds.serviceMonitor, serviceMonitorSpec],
      [childKinds.httpRoute, httpRouteSpec],
    ] as const) {
      const { group, version, plural } = resource;
      const schema = { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec } } };
      const body = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' } },
        spec: {
          ...{ group, scope: 'Namespaced', names: { plural, kind } },
          versions: [{ name: version, served: true, storage: true, schema }],
        },
      };
      await harness.api.must({ method: 'POST', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body });
    }
    await eventually(async () => {
      await harness.reconcile(1);
      assert.deepEqual(await made(), [true, true, true]);
    }, 30_000);
    const monitor = await harness.find(childKinds.serviceMonitor, 'one');
    assert.deepEqual(monitor?.['spec'], {
      jobLabel: 'ingester.michelangelo.api/job',
      selector: {
        matchLabels: { 'michelangelo/ingester': 'one' },
        matchExpressions: [{ key: 'ingester.michelangelo.api/job', operator: 'Exists' }],
      },
      endpoints: [{ port: 'metrics', path: '/metrics', interval: '30s' }],
    });
    const route = await harness.find(childKinds.httpRoute, 'one-query');
    assert.deepEqual(route?.['spec'], {
      hostnames: hosts,
      parentRefs: [{ name: 'g' }],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          backendRefs: [{ name: 'one-query', port: 443, weight: 1 }],
        },
      ],
    });
    await harness.reconcile(1);
    assert.deepEqual(await missing(), [undefined, undefined]);
  });
});
