import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changeClasses, leaves } from '../../../src/api/ingester/schema.ts';
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import { specSchema } from '../../../src/api/ingester/spec-schema.ts';
import { type StepName, stepNames } from '../../../src/api/ingester/status.ts';
import { valueAt } from '../../../src/base/json.ts';
import { appliedHash, componentChildren, maintenanceChildren } from '../../../src/lifecycle/children/components.ts';
import { jobOf, tasksConfig } from '../../../src/lifecycle/children/jobs.ts';
import { networkChildren, serviceChildren } from '../../../src/lifecycle/children/network.ts';
import { mergePods } from '../../../src/lifecycle/children/pod.ts';
import { changesBetween, classOfChange } from '../../../src/lifecycle/plan/changes.ts';

const parent = { namespace: 'n', name: 'one', uid: 'u-1' };
const spec: IngesterSpec = {
  version: '1.0.0',
  database: { credentialsSecret: 'mysql', encryption: { key: { name: 'keys', key: 'now' } } },
  components: { sync: { replicas: 2 }, query: { certificateSecret: 'tls' }, audit: {} },
};

function kinds(of: IngesterSpec): readonly string[] {
  return componentChildren(parent, of, {}).map(({ kind, name }) => `${kind.kind}/${name}`);
}

describe('the children of an Ingester resource', () => {
  it('are those of the components that are named, and no others', () => {
    assert.deepEqual(kinds({ ...spec, components: { audit: {} } }), [
      'ConfigMap/one-audit-config',
      'Deployment/one-audit',
    ]);
    assert.deepEqual(kinds({ ...spec, components: {} }), []);
  });

  it('have the resource as their controller, so that they go with it', () => {
    for (const { body } of [...componentChildren(parent, spec, {}), ...serviceChildren(parent, spec, 'query')]) {
      const [owner] = valueAt(body, ['metadata', 'ownerReferences']) as { uid: string; controller: boolean }[];
      assert.deepEqual([owner?.uid, owner?.controller], ['u-1', true]);
    }
  });

  it('name Secrets and never hold their content', () => {
    const maps = componentChildren(parent, spec, {}).filter(({ kind }) => kind.kind === 'ConfigMap');
    assert.equal(maps.length, 3);
    for (const { body } of maps) {
      const text = JSON.stringify(body);
      assert.match(text, /passwordFile/);
      assert.doesNotMatch(text, /password\\":/);
    }
  });

  it('restart only where their configuration changed', () => {
    const other = {
      ...spec,
      components: { ...spec.components, sync: { replicas: 2, config: { log: { level: 'debug' } } } },
    };
    const changed = (['sync', 'query', 'audit'] as const).filter(
      (name) => appliedHash(parent, spec, name) !== appliedHash(parent, other, name),
    );
    assert.deepEqual(changed, ['sync']);
    assert.equal(
      appliedHash(parent, { ...spec, components: { sync: { replicas: 5 } } }, 'sync'),
      appliedHash(parent, spec, 'sync'),
    );
    assert.notEqual(appliedHash(parent, { ...spec, forceReload: 'x' }, 'audit'), appliedHash(parent, spec, 'audit'));
  });

  it('keep the number of pods that an autoscaler decided on, within its bounds', () => {
    const scaled: IngesterSpec = {
      ...spec,
      components: { sync: { autoscaling: { maxReplicas: 5 }, disruptionBudget: { maxUnavailable: 1 } } },
    };
    const replicas = (live: number): unknown =>
      valueAt(
        componentChildren(parent, scaled, { sync: { replicas: live } }).find(({ kind }) => kind.kind === 'Deployment')
          ?.body,
        ['spec', 'replicas'],
      );
    assert.deepEqual([replicas(3), replicas(9)], [3, 5]);
    assert.deepEqual(kinds(scaled).slice(2), ['HorizontalPodAutoscaler/one-sync', 'PodDisruptionBudget/one-sync']);
  });

  it('let a node be drained of a replica that is not ready', () => {
    const kept: IngesterSpec = { ...spec, components: { sync: { disruptionBudget: { minAvailable: 1 } } } };
    const budget = componentChildren(parent, kept, {}).find(({ kind }) => kind.kind === 'PodDisruptionBudget');
    const { selector, ...rules } = valueAt(budget?.body, ['spec']) as Readonly<Record<string, unknown>>;
    assert.ok(selector);
    assert.deepEqual(rules, { minAvailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });

  it('lead to query or to the page by the selector of one and the same Service', () => {
    const [toQuery] = serviceChildren(parent, spec, 'query');
    const [toPage] = serviceChildren(parent, spec, 'maintenance');
    assert.equal(toQuery?.name, toPage?.name);
    const labels = valueAt(maintenanceChildren(parent, spec)[0]?.body, ['spec', 'template', 'metadata', 'labels']);
    assert.deepEqual(valueAt(toPage?.body, ['spec', 'selector']), labels);
    const ports = valueAt(toQuery?.body, ['spec', 'ports']) as readonly { readonly name: string }[];
    assert.deepEqual(
      ports.map(({ name }) => name),
      ['https'],
      'metrics have a Service of their own',
    );
  });

  it('publish by Ingress or HTTPRoute, and limit who connects, where that is asked for', () => {
    assert.deepEqual(networkChildren(parent, spec), []);
    const hosts = ['q.example.com'];
    const kindsOf = (more: Partial<IngesterSpec>): readonly string[] =>
      networkChildren(parent, { ...spec, ...more }).map(({ kind }) => kind.kind);
    assert.deepEqual(kindsOf({ networking: { hosts, ingress: {} } }), ['Ingress']);
    assert.deepEqual(kindsOf({ networking: { hosts, httpRoute: { parentRefs: [{ name: 'g' }] } } }), ['HTTPRoute']);
    assert.deepEqual(kindsOf({ networkPolicy: {} }), Array(4).fill('NetworkPolicy'));
  });

  it('show the metrics of every component under the jobs that the alerts select', () => {
    const children = networkChildren(parent, { ...spec, monitoring: { interval: '15s', labels: { release: 'prom' } } });
    const [monitor, ...more] = children.filter(({ kind }) => kind.kind === 'ServiceMonitor');
    assert.deepEqual(more, []);
    const label = String(valueAt(monitor?.body, ['spec', 'jobLabel']));
    assert.deepEqual(valueAt(monitor?.body, ['spec', 'selector']), {
      matchLabels: { 'michelangelo/ingester': 'one' },
      matchExpressions: [{ key: label, operator: 'Exists' }],
    });
    assert.equal(valueAt(monitor?.body, ['metadata', 'labels', 'release']), 'prom');
    const services = children.filter(({ kind }) => kind.kind === 'Service');
    assert.deepEqual(
      services.map(({ name, body }) => [
        name,
        valueAt(body, ['metadata', 'labels', label]),
        valueAt(body, ['spec', 'selector', 'app.kubernetes.io/component']),
      ]),
      [
        ['one-sync-metrics', 'ingester-reconciler-metrics', 'sync'],
        ['one-query-metrics', 'ingester-query-metrics', 'query'],
        ['one-audit-metrics', 'ingester-audit-metrics', 'audit'],
      ],
    );
    const [queryService] = serviceChildren(parent, spec, 'query');
    assert.equal(valueAt(queryService?.body, ['metadata', 'labels', label]), undefined, 'or it would be read twice');
  });

  it('are Jobs that never try by themselves unless a node was drained, end in time and carry the number of their run', () => {
    const timed = { ...spec, lifecycle: { migrate: { timeout: '90s' } } };
    const job = jobOf(parent, { spec: timed, step: 'migrate' }, 'migrate-7');
    assert.deepEqual(
      [valueAt(job, ['spec', 'backoffLimit']), valueAt(job, ['spec', 'activeDeadlineSeconds'])],
      [0, 90],
    );
    const onPodConditions = [{ type: 'DisruptionTarget', status: 'True' }];
    assert.deepEqual(valueAt(job, ['spec', 'podFailurePolicy', 'rules']), [{ action: 'Ignore', onPodConditions }]);
    assert.match(JSON.stringify(job), /"--attempt","u-1-7"/);
    assert.doesNotMatch(JSON.stringify(job), /@run@/);
  });

  it('make the database in what comes first, and only where that is asked for', () => {
    const asked = { ...spec, database: { ...spec.database, createDatabase: true } };
    const creating = (of: IngesterSpec): readonly StepName[] =>
      stepNames.filter((step) => JSON.stringify(jobOf(parent, { spec: of, step }, '1')).includes('--create-database'));
    assert.deepEqual(creating(asked), ['clone', 'migrate']);
    assert.deepEqual(creating(spec), []);
  });

  it('take snapshots that let those referred to outlast retention, and go back to the one that was asked for', () => {
    const restore = { snapshot: 'old', nonce: 'n', replaceDataOf: 'd', discardNewer: true };
    const known = { restore, referenced: ['old', 'older'] };
    const argsOf = (step: StepName): string => {
      const [container] = valueAt(jobOf(parent, { spec, step, known }, `${step}-3`), [
        ...['spec', 'template', 'spec', 'containers'],
      ]) as { readonly args: readonly string[] }[];
      return container?.args.join(' ') ?? '';
    };
    const run = '--attempt u-1-3 --gate-holder lifecycle/n/one -o json';
    assert.equal(argsOf('backup'), `task snapshot ${run} --reason taken by schedule --referenced old older`);
    assert.equal(argsOf('snapshot'), `task snapshot ${run} --reason taken before a change --referenced old older`);
    assert.equal(argsOf('restore'), `task restore-snapshot old ${run} --replace-data-of d --discard-newer`);
  });

  it('find the ConfigMaps of the bundle in the namespace of the resource', () => {
    const maps = componentChildren(parent, spec, {}).filter(({ kind }) => kind.kind === 'ConfigMap');
    const texts = [...maps.map(({ body }) => body), tasksConfig(parent, spec)].map((body) =>
      String(valueAt(body, ['data', 'config.yaml'])),
    );
    assert.equal(texts.length, 4);
    for (const text of texts) {
      const { kubernetes } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      assert.deepEqual(kubernetes, { namespace: 'n' });
    }
  });

  it('have the heap of the component, unless a pod template says otherwise', () => {
    const optionsOf = (of: IngesterSpec): unknown => {
      const body = componentChildren(parent, of, {}).find(({ name, kind }) => {
        return name === 'one-query' && kind.kind === 'Deployment';
      })?.body;
      const [container] = valueAt(body, ['spec', 'template', 'spec', 'containers']) as {
        env: { name: string; value: string }[];
      }[];
      return container?.env.find(({ name }) => name === 'NODE_OPTIONS')?.value;
    };
    assert.equal(optionsOf(spec), '--max-semi-space-size=2 --max-old-space-size=256');
    const podTemplate = { env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=900' }] };
    assert.equal(optionsOf({ ...spec, podTemplate }), '--max-old-space-size=900');
  });

  it('are Jobs of one container without probes, as restricted as the pods of components', () => {
    const job = jobOf(parent, { spec, step: 'migrate' }, 'migrate-1');
    const pods = [
      valueAt(job, ['spec', 'template', 'spec']),
      ...componentChildren(parent, spec, {})
        .filter(({ kind }) => kind.kind === 'Deployment')
        .map(({ body }) => valueAt(body, ['spec', 'template', 'spec'])),
    ];
    assert.equal(pods.length, 4);
    for (const pod of pods) {
      const [container, ...others] = valueAt(pod, ['containers']) as object[];
      assert.deepEqual(others, []);
      assert.equal(valueAt(pod, ['securityContext', 'runAsNonRoot']), true);
      assert.equal(valueAt(pod, ['securityContext', 'seccompProfile', 'type']), 'RuntimeDefault');
      assert.equal(valueAt(container, ['securityContext', 'allowPrivilegeEscalation']), false);
      assert.equal(valueAt(container, ['securityContext', 'readOnlyRootFilesystem']), true);
      assert.deepEqual(valueAt(container, ['securityContext', 'capabilities', 'drop']), ['ALL']);
    }
    assert.doesNotMatch(JSON.stringify(pods[0]), /Probe/);
  });
});

describe('pod templates', () => {
  it('merge by the rules of each field', () => {
    const merged = mergePods([
      {
        labels: { a: '1', b: '1' },
        env: [{ name: 'X', value: '1' }],
        tolerations: [{ key: 'a' }],
        priorityClassName: 'low',
      },
      { labels: { b: '2' }, env: [{ name: 'X', value: '2' }], tolerations: [{ key: 'b' }], priorityClassName: 'high' },
    ]);
    assert.deepEqual(merged.labels, { a: '1', b: '2' });
    assert.deepEqual(merged.env, [{ name: 'X', value: '2' }]);
    assert.deepEqual([merged.tolerations?.length, merged.priorityClassName], [2, 'high']);
  });

  it('cannot take labels by which pods are found', () => {
    const reserved = {
      'michelangelo/ingester': 'other',
      'michelangelo/canary': 'true',
      'app.kubernetes.io/part-of': 'x',
    };
    const forged: IngesterSpec = { ...spec, podTemplate: { labels: { ...reserved, mine: 'x' } } };
    const body = componentChildren(parent, forged, {}).find(({ name }) => name === 'one-sync')?.body;
    const labels = valueAt(body, ['spec', 'template', 'metadata', 'labels']) as Readonly<Record<string, string>>;
    assert.deepEqual([labels['michelangelo/ingester'], labels['mine']], ['one', 'x']);
    for (const name of ['michelangelo/canary', 'app.kubernetes.io/part-of'])
      assert.equal(labels[name], undefined, name);
  });
});

describe('classes of changes', () => {
  it('are stated for every field', () => {
    for (const { path, leaf } of leaves(specSchema)) assert.ok(changeClasses.includes(leaf.change), path);
    assert.ok(leaves(specSchema).length > 100);
  });

  it('are the highest of all that changed', () => {
    const scaled: IngesterSpec = { ...spec, components: { ...spec.components, sync: { replicas: 3 } } };
    assert.equal(classOfChange(spec, scaled), 'scale');
    assert.equal(classOfChange(spec, { ...scaled, version: '2.0.0' }), 'upgrade');
    assert.equal(classOfChange(spec, { ...spec, suspend: true }), 'ignore');
    assert.equal(classOfChange(spec, spec), undefined);
    assert.deepEqual(changesBetween(spec, { ...spec, networkPolicy: {} }), [{ path: 'networkPolicy', class: 'patch' }]);
  });
});
