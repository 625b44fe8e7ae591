// Who may write an Ingester decides how this program runs, and nothing else: not with rights on the platform's group, and
// with rights on Ingesters not which program runs, with which Secrets, or where credentials are sent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PERMITTED_CONFIG_MAP } from '../../src/api/ingester/permitted.ts';
import { childKinds, jobKind } from '../../src/lifecycle/children/kinds.ts';
import { fine, forbiddenAsks, theirs } from '../support/ingester-asks.ts';
import { type LifecycleHarness, useLifecycleHarness } from '../support/lifecycle-harness.ts';

const use = useLifecycleHarness();
const MALLORY = 'mallory';

/** Gives the user these rights in the namespace. */
async function grant({ api, namespace }: LifecycleHarness, user: string, rule: object): Promise<void> {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = { name: user };
  await api.must({
    method: 'POST',
    path: `${rbac}/roles`,
    body: { apiVersion, kind: 'Role', metadata, rules: [rule] },
  });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user };
  const subjects = [{ apiGroup: roleRef.apiGroup, kind: 'User', name: user }];
  const body = { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects };
  await api.must({ method: 'POST', path: `${rbac}/rolebindings`, body });
}

function pathOf({ namespace }: LifecycleHarness): string {
  return `/apis/ingester.michelangelo.api/v1/namespaces/${namespace}/ingesters`;
}

/** What a user with nothing but the right to update Ingesters writes. */
async function write(harness: LifecycleHarness, change: object, part: '' | '/status' = ''): Promise<void> {
  const path = `${pathOf(harness)}/one`;
  const known = await harness.api.must({ method: 'GET', path });
  await harness.api.must({ method: 'PUT', path: `${path}${part}`, body: { ...known, ...change }, as: MALLORY });
}

describe('rights on the group of the platform', () => {
  it('grant no Ingester, wildcards among them', async () => {
    const harness = await use();
    await grant(harness, MALLORY, { apiGroups: ['michelangelo.api'], resources: ['*'], verbs: ['*'] });
    const body = {
      apiVersion: 'ingester.michelangelo.api/v1',
      kind: 'Ingester',
      metadata: { name: 'one' },
      spec: fine,
    };
    const { status } = await harness.api.call({ method: 'POST', path: pathOf(harness), body, as: MALLORY });
    assert.equal(status, 403);
    const other = await harness.api.call({
      method: 'POST',
      path: pathOf(harness).replace('ingester.', '').replace('/v1/', '/v2/'),
      body,
    });
    assert.equal(other.status, 404);
  });
});

describe('a user who may update Ingesters', () => {
  const apiGroups = ['ingester.michelangelo.api'];

  it(`gets none of ${forbiddenAsks.length} things that an Ingester could ask for: each is named, and the running pods go on`, async () => {
    const harness = await use();
    await grant(harness, MALLORY, { apiGroups, resources: ['ingesters'], verbs: ['update'] });
    await harness.ask(fine);
    await harness.reconcile(4);
    const runs = await harness.find(childKinds.deployment, 'one-sync');
    assert.notEqual(runs, undefined);
    for (const [what, path, change] of forbiddenAsks) {
      await write(harness, { spec: { ...fine, ...change } });
      await harness.reconcile(1);
      const { status, message } = await harness.condition('SpecValid');
      assert.equal(status, 'False', what);
      assert.ok(message.includes(`${path}: `) || message.includes(`${path}.`), `${what}: ${message}`);
      assert.deepEqual((await harness.find(childKinds.deployment, 'one-sync'))?.['spec'], runs?.['spec'], what);
      for (const task of ['one-migrate', 'one-clone', 'one-rotate']) {
        assert.equal(await harness.find(jobKind, task), undefined, what);
      }
      assert.equal(await harness.find(childKinds.ingress, 'one-query'), undefined, what);
    }
  });

  it('gets no container, service account or namespace of the node: an Ingester has no such fields', async () => {
    const harness = await use();
    await grant(harness, MALLORY, { apiGroups, resources: ['ingesters'], verbs: ['update'] });
    await harness.ask(fine);
    const containers = [{ name: 'theirs', image: 'theirs' }];
    const podTemplate = {
      ...{
        initContainers: containers,
        containers,
        ephemeralContainers: containers,
        envFrom: [{ secretRef: { name: theirs } }],
      },
      ...{ serviceAccountName: 'admin', hostNetwork: true, hostPID: true, securityContext: { runAsUser: 0 } },
    };
    await write(harness, { spec: { ...fine, podTemplate } });
    await harness.reconcile(4);
    const made = JSON.stringify((await harness.find(childKinds.deployment, 'one-sync'))?.['spec']);
    assert.match(made, /"serviceAccountName":"ingester-reconciler"/);
    assert.doesNotMatch(made, /theirs|platform-admin|hostNetwork":true|hostPID":true|"runAsUser":0/);
  });

  it('gets a forbidden field when the ConfigMap permits it, and no longer once the permission is taken back', async () => {
    const harness = await use();
    await harness.ask({ ...fine, database: { credentialsSecret: theirs } });
    await harness.reconcile(3);
    assert.equal(await harness.find(childKinds.deployment, 'one-sync'), undefined);
    await harness.create(childKinds.configMap, PERMITTED_CONFIG_MAP, { data: { secrets: `ingester-* ${theirs}` } });
    await harness.reconcile(4);
    assert.match(JSON.stringify(await harness.find(childKinds.deployment, 'one-sync')), /platform-admin/);
    assert.equal((await harness.condition('SpecValid')).status, 'True');
    await harness.remove(childKinds.configMap, PERMITTED_CONFIG_MAP);
    await harness.reconcile(2);
    assert.equal((await harness.condition('SpecValid')).status, 'False');
  });
});

describe('a user who may also update the status of Ingesters', () => {
  it('gets no forbidden field by writing it into the status as what runs, ran well or is being rotated to', async () => {
    const harness = await use();
    const apiGroups = ['ingester.michelangelo.api'];
    await grant(harness, MALLORY, { apiGroups, resources: ['ingesters', 'ingesters/status'], verbs: ['update'] });
    await harness.ask(fine);
    await harness.reconcile(4);
    const forged = { spec: { ...fine, image: 'registry.example.com/theirs:1' }, generation: 1 };
    const status = await harness.status();
    const rotated = {
      from: 'ingester-mysql',
      to: theirs,
      previous: theirs,
      adminSecret: theirs,
      run: 'r',
      state: 'InUse',
    };
    await write(harness, { spec: { ...fine, image: 'no' } });
    const credentials = { ...status.lifecycle, credentials: rotated };
    await write(harness, { status: { ...status, target: forged, stable: forged, lifecycle: credentials } }, '/status');
    const assertNothingTheirs = async (): Promise<void> => {
      const made = [
        await harness.find(childKinds.deployment, 'one-sync'),
        await harness.find(childKinds.configMap, 'one-sync-config'),
      ];
      assert.doesNotMatch(JSON.stringify(made), /theirs|platform-admin/);
    };
    await harness.reconcile(4);
    await assertNothingTheirs();
    await write(harness, { spec: fine });
    await harness.reconcile(4);
    await assertNothingTheirs();
    for (const task of ['one-finish', 'one-rotate']) assert.equal(await harness.find(jobKind, task), undefined);
  });
});
