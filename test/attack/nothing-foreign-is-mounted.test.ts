// Names that the lifecycle needs are taken by others before it comes. It gives them nothing: neither credentials, nor
// fields, nor traffic; it says which names they are, and goes on when they are free.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { JsonPatch, ObjectRef } from '../../src/kube/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { type ChildKind, childKinds, jobKind } from '../../src/lifecycle/children/kinds.ts';
import { type LifecycleHarness, useLifecycleHarness } from '../support/lifecycle-harness.ts';

const noTasks = { migrate: { disabled: true }, init: { disabled: true } };
const labels = { app: 'theirs' };
const pod = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'theirs' }] };
const template = { metadata: { labels }, spec: pod };
const workload = {
  selector: { matchLabels: labels },
  template: { ...template, spec: { ...pod, restartPolicy: 'Always' } },
};
const theirConfig = {
  data: { 'config.yaml': 'mysql: { host: theirs }\n', 'post.sql': 'DROP DATABASE michelangelo;\n' },
};

const everything: Partial<IngesterSpec> = {
  components: {
    sync: { autoscaling: { maxReplicas: 3 }, disruptionBudget: { maxUnavailable: 1 } },
    query: { certificateSecret: 'ingester-tls', autoscaling: { maxReplicas: 2 } },
  },
  networking: { hosts: ['example.com'], ingress: { className: 'public' } },
  networkPolicy: {},
  monitoring: {},
  lifecycle: noTasks,
};

/** Objects of others under all the names that are wanted for `everything`, workloads apart. */
const foreign: readonly (readonly [kind: ChildKind, name: string, body: object])[] = [
  [childKinds.configMap, 'one-sync-config', theirConfig],
  [childKinds.configMap, 'one-query-config', theirConfig],
  [childKinds.service, 'one-query', { spec: { selector: labels, ports: [{ port: 80 }] } }],
  [childKinds.service, 'one-sync-metrics', { spec: { selector: labels, ports: [{ port: 80 }] } }],
  [childKinds.networkPolicy, 'one-sync', { spec: { podSelector: { matchLabels: labels } } }],
];

async function takenBy(harness: LifecycleHarness, taken: typeof foreign): Promise<readonly KubernetesObject[]> {
  return Promise.all(taken.map(([kind, name, body]) => harness.create(kind, name, body)));
}

async function assertTold(harness: LifecycleHarness, keys: readonly string[]): Promise<void> {
  const { status, reason, message } = await harness.condition('ForeignObjects');
  assert.deepEqual([status, reason], ['True', 'NameTaken']);
  for (const key of keys) {
    assert.ok(message.includes(key), `${key} is not named: ${message}`);
    assert.match(
      message,
      new RegExp(`kubectl delete -n <namespace> (\\S+ )*${key.toLowerCase()}[ )]`),
      'with the remedy',
    );
  }
}

/** Looks before the other one creates it. */
class LooksTooEarly extends HttpKubeClient {
  override get(ref: ObjectRef): Promise<KubernetesObject> {
    if (ref.resource.plural === 'ingesters') return super.get(ref);
    return Promise.reject(new KubeError('NotFound', 'not there yet'));
  }
}

/** Is killed before its first patch. */
class DiesBeforePatch extends HttpKubeClient {
  override patch(_ref: ObjectRef, _patch: JsonPatch): Promise<KubernetesObject> {
    return Promise.reject(new KubeError('Unavailable', 'killed'));
  }
}

const use = useLifecycleHarness();

describe('a ConfigMap or Job of another owner with the name of a task', () => {
  it('is not mounted into a Job, and the condition names it; once the name is free, the task runs with its own', async () => {
    const harness = await use();
    const theirs = await harness.create(childKinds.configMap, 'one-tasks-config', theirConfig);
    await harness.ask({});
    await harness.reconcile(6);
    assert.equal(await harness.find(jobKind, 'one-migrate'), undefined);
    assert.deepEqual(await harness.find(childKinds.configMap, 'one-tasks-config'), theirs);
    await assertTold(harness, ['ConfigMap/one-tasks-config']);
    assert.equal((await harness.condition('LifecycleComplete')).reason, 'NameTaken');
    await harness.remove(childKinds.configMap, 'one-tasks-config');
    await harness.reconcile(2);
    assert.notEqual(await harness.find(jobKind, 'one-migrate'), undefined);
    assert.equal((await harness.condition('ForeignObjects')).status, 'False');
    assert.equal((await harness.condition('LifecycleComplete')).reason, 'TaskInProgress');
  });

  it('is not taken for the run of the task: the condition names it instead of "in progress"; once the name is free, the task runs', async () => {
    const harness = await use();
    const theirs = await harness.create(jobKind, 'one-migrate', { spec: { template } });
    await harness.ask({});
    await harness.reconcile(6);
    assert.equal((await harness.find(jobKind, 'one-migrate'))?.metadata.uid, theirs.metadata.uid);
    await assertTold(harness, ['Job/one-migrate']);
    assert.equal((await harness.condition('LifecycleComplete')).reason, 'NameTaken');
    await harness.client.delete(
      { resource: jobKind.resource, namespace: harness.namespace, name: 'one-migrate' },
      { propagationPolicy: 'Background' },
    );
    await harness.reconcile(2);
    const own = await harness.find(jobKind, 'one-migrate');
    assert.equal(own?.metadata.labels?.['michelangelo/ingester'], 'one');
    assert.equal((await harness.condition('LifecycleComplete')).reason, 'TaskInProgress');
  });
});

describe('objects of other owners with the names of children', () => {
  it('stay as they are, whatever their kind; the controller does not mount them, route to them or scale them', async () => {
    const harness = await use();
    const theirs = await takenBy(harness, foreign);
    await harness.ask(everything);
    await harness.reconcile(6);
    const after = await Promise.all(foreign.map(([kind, name]) => harness.find(kind, name)));
    assert.deepEqual(after, theirs);
    await assertTold(
      harness,
      foreign.map(([kind, name]) => `${kind.kind}/${name}`),
    );
    for (const [kind, name] of [
      [childKinds.deployment, 'one-sync'],
      [childKinds.deployment, 'one-query'],
      [childKinds.autoscaler, 'one-sync'],
      [childKinds.ingress, 'one-query'],
    ] as const) {
      assert.equal(await harness.find(kind, name), undefined, `${kind.kind}/${name} was made`);
    }
    for (const [kind, name] of foreign) await harness.remove(kind, name);
    await harness.reconcile(2);
    assert.notEqual(await harness.find(childKinds.deployment, 'one-query'), undefined);
    assert.notEqual(await harness.find(childKinds.ingress, 'one-query'), undefined);
  });

  it('are not scaled where they are a Deployment, nor published where they are a Service', async () => {
    const harness = await use();
    const theirs = await harness.create(childKinds.deployment, 'one-sync', { spec: workload });
    await harness.ask(everything);
    await harness.reconcile(6);
    assert.deepEqual(await harness.find(childKinds.deployment, 'one-sync'), theirs);
    assert.equal(await harness.find(childKinds.autoscaler, 'one-sync'), undefined);
    assert.notEqual(await harness.find(childKinds.autoscaler, 'one-query'), undefined);
    await assertTold(harness, ['Deployment/one-sync']);
  });

  it('are not mounted where they are a configuration: the Deployment that would mount one is deleted', async () => {
    const harness = await use();
    await harness.ask(everything);
    await harness.reconcile(4);
    assert.notEqual(await harness.find(childKinds.deployment, 'one-sync'), undefined);
    await harness.remove(childKinds.configMap, 'one-sync-config');
    await harness.create(childKinds.configMap, 'one-sync-config', theirConfig);
    await harness.reconcile(2);
    // Nothing collects garbage here: what is deleted in the foreground stays, marked.
    const left = await harness.find(childKinds.deployment, 'one-sync');
    assert.notEqual(left === undefined ? '' : left.metadata.deletionTimestamp, undefined);
    await assertTold(harness, ['ConfigMap/one-sync-config']);
  });
});

describe('an object of another owner that appears at the moment of writing', () => {
  it('is not taken over by force', async () => {
    const harness = await use();
    const theirs = await harness.create(childKinds.configMap, 'one-sync-config', theirConfig);
    await harness.ask({ components: { sync: {} }, lifecycle: noTasks });
    const early = new LooksTooEarly(harness.transport);
    for (let count = 0; count < 4; count += 1) await harness.reconcile(1, early).catch(() => undefined);
    assert.deepEqual(await harness.find(childKinds.configMap, 'one-sync-config'), theirs);
    assert.equal(await harness.find(childKinds.deployment, 'one-sync'), undefined);
  });
});

describe('a Deployment that the controller created', () => {
  for (const [when, isKilled] of [
    ['at once', false],
    ['after a kill between its two writes', true],
  ] as const) {
    it(`loses a variable that the resource no longer asks for, ${when}: no manager but the apply owns its fields`, async () => {
      const harness = await use();
      await harness.ask({ components: { sync: {} }, lifecycle: noTasks, forceReload: 'a' });
      if (isKilled) {
        const killed = new DiesBeforePatch(harness.transport);
        for (let count = 0; count < 6; count += 1) await harness.reconcile(1, killed).catch(() => undefined);
      }
      await harness.reconcile(4);
      const made = JSON.stringify(await harness.find(childKinds.deployment, 'one-sync'));
      assert.match(made, /INGESTER_FORCE_RELOAD/);
      assert.doesNotMatch(made, /michelangelo\/created/);
      await harness.ask({ components: { sync: {} }, lifecycle: noTasks });
      await harness.reconcile(2);
      const changed = JSON.stringify(await harness.find(childKinds.deployment, 'one-sync'));
      assert.doesNotMatch(changed, /INGESTER_FORCE_RELOAD/);
    });
  }
});
