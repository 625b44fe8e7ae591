// Parts of the children: what of a specification gets where, what stays while tasks run, and what the controller may do.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { leaves } from '../../../src/api/ingester/schema.ts';
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import { specSchema } from '../../../src/api/ingester/spec-schema.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { valueAt } from '../../../src/base/json.ts';
import { componentChildren } from '../../../src/lifecycle/children/components.ts';
import { jobOf, tasksConfig } from '../../../src/lifecycle/children/jobs.ts';
import type { Child } from '../../../src/lifecycle/children/kinds.ts';
import { mergePods } from '../../../src/lifecycle/children/pod.ts';
import { observe } from '../../../src/lifecycle/reconcile/observe.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';

const root = join(import.meta.dirname, '../../..');
const parent = { namespace: 'n', name: 'one', uid: 'u-1' };
const spec: IngesterSpec = {
  version: '1.0.0',
  database: { credentialsSecret: 'mysql' },
  components: { sync: {}, audit: {} },
};

function child(of: IngesterSpec, kind: string, name: string): Child | undefined {
  return componentChildren(parent, of, { audit: { replicas: 5 } }).find((each) => {
    return each.kind.kind === kind && each.name === name;
  });
}

function configurationOf(of: IngesterSpec, name: 'sync' | 'audit'): Readonly<Record<string, unknown>> {
  const text = valueAt(child(of, 'ConfigMap', `one-${name}-config`)?.body, ['data', 'config.yaml']);
  return JSON.parse(String(text)) as Readonly<Record<string, unknown>>;
}

describe('the component audit', () => {
  it('is one pod, never two at once, whatever number of replicas there is', () => {
    const body = child(spec, 'Deployment', 'one-audit')?.body;
    assert.deepEqual(
      [valueAt(body, ['spec', 'replicas']), valueAt(body, ['spec', 'strategy', 'type'])],
      [1, 'Recreate'],
    );
    assert.equal(valueAt(child(spec, 'Deployment', 'one-sync')?.body, ['spec', 'strategy', 'type']), 'RollingUpdate');
  });
});

describe('the configuration of a component', () => {
  it('is that of the fields, under that of all components, under its own, key by key', () => {
    const layered: IngesterSpec = {
      ...spec,
      kinds: { concurrency: 2, requeuePeriod: '5s' },
      config: { ingester: { concurrentReconciles: 3 }, log: { level: 'warn', format: 'text' } },
      components: { sync: { config: { log: { level: 'debug' } } }, audit: {} },
    };
    const { ingester, log } = configurationOf(layered, 'sync');
    assert.deepEqual(ingester, { concurrentReconciles: 3, requeuePeriod: '5s' });
    assert.deepEqual(log, { level: 'debug', format: 'text' });
    assert.deepEqual(configurationOf(layered, 'audit')['log'], { level: 'warn', format: 'text' });
  });

  it('cannot undo what the controller sets', () => {
    const undone: IngesterSpec = { ...spec, config: { leaderElection: { enabled: false } } };
    assert.deepEqual(configurationOf(undone, 'sync')['leaderElection'], { enabled: true });
  });
});

describe('pod templates', () => {
  it('may mount one volume at two paths, and replace what is mounted at a path', () => {
    const volumes = [{ name: 'v', emptyDir: {} }];
    const merged = mergePods([
      { volumes, volumeMounts: [{ name: 'v', mountPath: '/a' }], nodeSelector: { a: '1', b: '1' } },
      {
        volumeMounts: [
          { name: 'v', mountPath: '/b' },
          { name: 'v', mountPath: '/a', readOnly: true },
        ],
        nodeSelector: { b: '2' },
        topologySpreadConstraints: [{ topologyKey: 'zone' }],
        resources: { limits: { memory: '1Gi' } },
      },
    ]);
    assert.deepEqual(merged.volumeMounts, [
      { name: 'v', mountPath: '/a', readOnly: true },
      { name: 'v', mountPath: '/b' },
    ]);
    assert.deepEqual(
      [merged.volumes, merged.nodeSelector, merged.resources, merged.topologySpreadConstraints?.length],
      [volumes, { a: '1', b: '2' }, { limits: { memory: '1Gi' } }, 1],
    );
  });
});

describe('the pod of a task', () => {
  it('has both keys where a key is rotated, by the names that the resource gives', () => {
    const [key, previousKey] = [
      { name: 'keys-2', key: 'k' },
      { name: 'keys-1', key: 'k' },
    ];
    const rotating: IngesterSpec = { ...spec, database: { ...spec.database, encryption: { key, previousKey } } };
    const job = JSON.stringify(jobOf(parent, { spec: rotating, step: 'rotate' }, 'rotate-1'));
    for (const { name } of [key, previousKey]) assert.ok(job.includes(`"secret":{"name":"${name}"`), name);
    const config = String(valueAt(tasksConfig(parent, rotating), ['data', 'config.yaml']));
    const { encryption } = JSON.parse(config) as Readonly<Record<string, unknown>>;
    const folder = '/etc/ingester/keys';
    assert.deepEqual(encryption, { keyFile: `${folder}/key`, previousKeyFile: `${folder}/previous-key` });
  });

  it('that copies has what is left out, and the statements of the resource', () => {
    const clone = {
      sourceSecret: 'source',
      excludeKinds: ['Model'],
      excludeNamespaces: ['private'],
      postSQL: ['DELETE FROM project', 'DELETE FROM model;'],
    };
    const copying: IngesterSpec = { ...spec, environment: 'Staging', lifecycle: { clone } };
    const data = valueAt(tasksConfig(parent, copying), ['data']) as Readonly<Record<string, string>>;
    const { clone: section } = JSON.parse(data['config.yaml'] ?? '') as { clone: Readonly<Record<string, unknown>> };
    assert.deepEqual(
      [section['environment'], section['excludeKinds'], section['excludeNamespaces']],
      ['Staging', ['Model'], ['private']],
    );
    assert.equal(data['post.sql'], 'DELETE FROM project;\nDELETE FROM model;\n');
  });

  it('counts as that of its Job only by the uid of its owner', async () => {
    const { server, owned, jobs } = aMigration();
    const ended = { status: { containerStatuses: [{ state: { terminated: { exitCode: 3, reason: 'Error' } } }] } };
    server.of('pods').put(owned('Pod', 'real', { kind: 'Job', name: 'one-migrate', uid: 'uid-of-one-migrate' }));
    server.of('pods').put(owned('Pod', 'forged', { kind: 'Job', name: 'another', uid: 'x' }, ended));
    assert.deepEqual(
      (await jobs()).map(({ run, pods: count, exitCode }) => [run, count, exitCode]),
      [['migrate-1', 1, undefined]],
    );
  });

  it('says how it ended with its exit code, and without the secrets that it printed', async () => {
    const { server, owned, jobs } = aMigration();
    const terminated = { exitCode: 3, reason: 'Error', message: 'no login with password=hunter2\n' };
    const status = { phase: 'Failed', containerStatuses: [{ state: { terminated } }] };
    const owner = { kind: 'Job', name: 'one-migrate', uid: 'uid-of-one-migrate' };
    server.of('pods').put(owned('Pod', 'real', owner, { status }));
    const [job] = await jobs();
    assert.deepEqual([job?.exitCode, job?.message], [3, 'no login with password= ***']);
  });

  it('says how the pod ended that took the place of a drained one, and not how that one did', async () => {
    const { server, owned, jobs } = aMigration();
    const owner = { kind: 'Job', name: 'one-migrate', uid: 'uid-of-one-migrate' };
    const ended = (name: string, exitCode: number, conditions: readonly object[] = []): void => {
      const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', message: name };
      const containerStatuses = [{ state: { terminated } }];
      const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
      server.of('pods').put(owned('Pod', name, owner, { status: { phase, conditions, containerStatuses } }));
    };
    ended('drained', 143, [{ type: 'DisruptionTarget', status: 'True' }]);
    assert.equal((await jobs())[0]?.message, 'drained');
    ended('replaced', 0);
    const [job] = await jobs();
    assert.deepEqual([job?.exitCode, job?.message], [0, 'replaced']);
  });
});

/** A Job of the resource, and what is observed of it. */
function aMigration() {
  const server = new FakeApiServer();
  const labels = { 'michelangelo/ingester': 'one', 'app.kubernetes.io/component': 'migrate' };
  const owned = (kind: string, name: string, owner: object, more: object = {}): KubernetesObject => ({
    ...{ apiVersion: 'v1', kind, ...more },
    metadata: {
      ...{ namespace: 'n', name, uid: `uid-of-${name}`, resourceVersion: '1', labels },
      annotations: { 'michelangelo/run': 'migrate-1' },
      ownerReferences: [{ apiVersion: 'v1', controller: true, ...owner }],
    },
  });
  server.of('jobs').put(owned('Job', 'one-migrate', { kind: 'Ingester', name: 'one', uid: parent.uid }));
  const jobs = async () => (await observe(server, parent, new Date(0), new AbortController().signal)).state.jobs;
  return { server, owned, jobs };
}

describe('the rights of the lifecycle controller', () => {
  it('are none on Secrets, none by a wildcard, and outside of its namespace only to ask who may read metrics', () => {
    const text = readFileSync(join(root, 'config/components/lifecycle/rbac.yaml'), 'utf8');
    const manifests = parseAllDocuments(text).map((document) => document.toJS() as Readonly<Record<string, unknown>>);
    const rules = manifests.flatMap(({ rules: some = [] }) => some as readonly object[]);
    assert.ok(rules.length > 10);
    assert.doesNotMatch(JSON.stringify(rules), /"secrets"|\*|serviceaccounts|"roles|rolebindings/);
    assert.deepEqual(
      manifests.map(({ kind }) => kind),
      ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRoleBinding'],
    );
    assert.deepEqual(manifests.at(-1)?.['roleRef'], {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'system:auth-delegator',
    });
  });
});

describe('docs/lifecycle-reference.md', () => {
  it('has every field of the specification, and no other', () => {
    const page = readFileSync(join(root, 'docs/lifecycle-reference.md'), 'utf8');
    const [table = ''] = page.slice(page.indexOf('| Field of spec |')).split('\n\n');
    const documented = [...table.matchAll(/^\| `([\w.]+)` \|/gm)].map(([, path]) => path);
    const fields = leaves(specSchema).map(({ path }) => path.replace(/^spec\./, ''));
    assert.deepEqual(documented.toSorted(), fields.toSorted());
  });
});
