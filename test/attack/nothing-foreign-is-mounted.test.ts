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
import { type LifecyclePasses, useLifecyclePasses } from '../support/lifecycle-passes.ts';

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

async function takenBy(passes: LifecyclePasses, taken: typeof foreign): Promise<readonly KubernetesObject[]> {
  return Promise.all(taken.map(([kind, name, body]) => passes.create(kind, name, body)));
}

async function assertTold(passes: LifecyclePasses, keys: readonly string[]): Promise<void> {
  const { status, reason, message } = await passes.condition('ForeignObjects');
  assert.deepEqual([status, reason], ['True', 'NameTaken']);
  for (const key of keys) {
    assert.ok(message.includes(key), `${key} is not named: ${message}`);
    assert.ok(message.includes(`kubectl delete ${key.replace('/', ' ').toLowerCase()}`), `no remedy: ${message}`);
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

const use = useLifecyclePasses();

describe('a ConfigMap or Job of somebody else with the name of a task', () => {
  it('is not mounted into a Job, and the condition says which it is; freed, the task runs with its own', async () => {
    const passes = await use();
    const theirs = await passes.create(childKinds.configMap, 'one-tasks-config', theirConfig);
    await passes.ask({});
    await passes.pass(6);
    assert.equal(await passes.find(jobKind, 'one-migrate'), undefined);
    assert.deepEqual(await passes.find(childKinds.configMap, 'one-tasks-config'), theirs);
    await assertTold(passes, ['ConfigMap/one-tasks-config']);
    assert.equal((await passes.condition('LifecycleComplete')).reason, 'NameTaken');
    await passes.remove(childKinds.configMap, 'one-tasks-config');
    await passes.pass(2);
    assert.notEqual(await passes.find(jobKind, 'one-migrate'), undefined);
    assert.equal((await passes.condition('ForeignObjects')).status, 'False');
    assert.equal((await passes.condition('LifecycleComplete')).reason, 'TaskInProgress');
  });

  it('is not taken for its own run: the condition says so instead of "in progress"; freed, the task runs', async () => {
    const passes = await use();
    const theirs = await passes.create(jobKind, 'one-migrate', { spec: { template } });
    await passes.ask({});
    await passes.pass(6);
    assert.equal((await passes.find(jobKind, 'one-migrate'))?.metadata.uid, theirs.metadata.uid);
    await assertTold(passes, ['Job/one-migrate']);
    assert.equal((await passes.condition('LifecycleComplete')).reason, 'NameTaken');
    await passes.client.delete(
      { resource: jobKind.resource, namespace: passes.namespace, name: 'one-migrate' },
      { propagationPolicy: 'Background' },
    );
    await passes.pass(2);
    const own = await passes.find(jobKind, 'one-migrate');
    assert.equal(own?.metadata.labels?.['michelangelo/ingester'], 'one');
    assert.equal((await passes.condition('LifecycleComplete')).reason, 'TaskInProgress');
  });
});

describe('objects of others with the names of children', () => {
  it('stay as they are, whatever their kind; nothing mounts them, leads to them or scales them', async () => {
    const passes = await use();
    const theirs = await takenBy(passes, foreign);
    await passes.ask(everything);
    await passes.pass(6);
    const after = await Promise.all(foreign.map(([kind, name]) => passes.find(kind, name)));
    assert.deepEqual(after, theirs);
    await assertTold(
      passes,
      foreign.map(([kind, name]) => `${kind.kind}/${name}`),
    );
    for (const [kind, name] of [
      [childKinds.deployment, 'one-sync'],
      [childKinds.deployment, 'one-query'],
      [childKinds.autoscaler, 'one-sync'],
      [childKinds.ingress, 'one-query'],
    ] as const) {
      assert.equal(await passes.find(kind, name), undefined, `${kind.kind}/${name} was made`);
    }
    for (const [kind, name] of foreign) await passes.remove(kind, name);
    await passes.pass(2);
    assert.notEqual(await passes.find(childKinds.deployment, 'one-query'), undefined);
    assert.notEqual(await passes.find(childKinds.ingress, 'one-query'), undefined);
  });

  it('are not scaled where they are a Deployment, nor published where they are a Service', async () => {
    const passes = await use();
    const theirs = await passes.create(childKinds.deployment, 'one-sync', { spec: workload });
    await passes.ask(everything);
    await passes.pass(6);
    assert.deepEqual(await passes.find(childKinds.deployment, 'one-sync'), theirs);
    assert.equal(await passes.find(childKinds.autoscaler, 'one-sync'), undefined);
    assert.notEqual(await passes.find(childKinds.autoscaler, 'one-query'), undefined);
    await assertTold(passes, ['Deployment/one-sync']);
  });

  it('take the place of a configuration: the Deployment that would mount it goes', async () => {
    const passes = await use();
    await passes.ask(everything);
    await passes.pass(4);
    assert.notEqual(await passes.find(childKinds.deployment, 'one-sync'), undefined);
    await passes.remove(childKinds.configMap, 'one-sync-config');
    await passes.create(childKinds.configMap, 'one-sync-config', theirConfig);
    await passes.pass(2);
    // Nothing collects garbage here: what is deleted in the foreground stays, marked.
    const left = await passes.find(childKinds.deployment, 'one-sync');
    assert.notEqual(left === undefined ? '' : left.metadata.deletionTimestamp, undefined);
    await assertTold(passes, ['ConfigMap/one-sync-config']);
  });
});

describe('an object of somebody else that appears at the moment of writing', () => {
  it('is not taken over by force', async () => {
    const passes = await use();
    const theirs = await passes.create(childKinds.configMap, 'one-sync-config', theirConfig);
    await passes.ask({ components: { sync: {} }, lifecycle: noTasks });
    const early = new LooksTooEarly(passes.transport);
    for (let pass = 0; pass < 4; pass += 1) await passes.pass(1, early).catch(() => undefined);
    assert.deepEqual(await passes.find(childKinds.configMap, 'one-sync-config'), theirs);
    assert.equal(await passes.find(childKinds.deployment, 'one-sync'), undefined);
  });
});

describe('an object that was created', () => {
  for (const [when, isKilled] of [
    ['at once', false],
    ['after a kill between its two writes', true],
  ] as const) {
    it(`loses what is not asked for any more, ${when}: nothing owns its fields but what is applied`, async () => {
      const passes = await use();
      await passes.ask({ components: { sync: {} }, lifecycle: noTasks, forceReload: 'a' });
      if (isKilled) {
        const killed = new DiesBeforePatch(passes.transport);
        for (let pass = 0; pass < 6; pass += 1) await passes.pass(1, killed).catch(() => undefined);
      }
      await passes.pass(4);
      const made = JSON.stringify(await passes.find(childKinds.deployment, 'one-sync'));
      assert.match(made, /INGESTER_FORCE_RELOAD/);
      assert.doesNotMatch(made, /michelangelo\/created/);
      await passes.ask({ components: { sync: {} }, lifecycle: noTasks });
      await passes.pass(2);
      const changed = JSON.stringify(await passes.find(childKinds.deployment, 'one-sync'));
      assert.doesNotMatch(changed, /INGESTER_FORCE_RELOAD/);
    });
  }
});
