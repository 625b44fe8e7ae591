// Who may write an Ingester decides how this program runs, and nothing else: not with rights on the platform's group, and
// with rights on Ingesters not which program runs, with which Secrets, or where credentials are sent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PERMITTED_CONFIG_MAP } from '../../src/api/ingester/permitted.ts';
import { childKinds, jobKind } from '../../src/lifecycle/children/kinds.ts';
import { fine, forbiddenAsks, theirs } from '../support/ingester-asks.ts';
import { type LifecyclePasses, useLifecyclePasses } from '../support/lifecycle-passes.ts';

const use = useLifecyclePasses();
const MALLORY = 'mallory';

/** Gives the user these rights in the namespace. */
async function grant({ api, namespace }: LifecyclePasses, user: string, rule: object): Promise<void> {
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

function pathOf({ namespace }: LifecyclePasses): string {
  return `/apis/ingester.michelangelo.api/v1/namespaces/${namespace}/ingesters`;
}

/** What a user with nothing but the right to update Ingesters writes. */
async function write(passes: LifecyclePasses, change: object, part: '' | '/status' = ''): Promise<void> {
  const path = `${pathOf(passes)}/one`;
  const known = await passes.api.must({ method: 'GET', path });
  await passes.api.must({ method: 'PUT', path: `${path}${part}`, body: { ...known, ...change }, as: MALLORY });
}

describe('rights on the group of the platform', () => {
  it('grant no Ingester, wildcards among them', async () => {
    const passes = await use();
    await grant(passes, MALLORY, { apiGroups: ['michelangelo.api'], resources: ['*'], verbs: ['*'] });
    const body = {
      apiVersion: 'ingester.michelangelo.api/v1',
      kind: 'Ingester',
      metadata: { name: 'one' },
      spec: fine,
    };
    const { status } = await passes.api.call({ method: 'POST', path: pathOf(passes), body, as: MALLORY });
    assert.equal(status, 403);
    const other = await passes.api.call({
      method: 'POST',
      path: pathOf(passes).replace('ingester.', '').replace('/v1/', '/v2/'),
      body,
    });
    assert.equal(other.status, 404);
  });
});

describe('who may update Ingesters', () => {
  const apiGroups = ['ingester.michelangelo.api'];

  it(`gets nothing of ${forbiddenAsks.length} things that an Ingester could ask for: each is named, and what ran goes on`, async () => {
    const passes = await use();
    await grant(passes, MALLORY, { apiGroups, resources: ['ingesters'], verbs: ['update'] });
    await passes.ask(fine);
    await passes.pass(4);
    const runs = await passes.find(childKinds.deployment, 'one-sync');
    assert.notEqual(runs, undefined);
    for (const [what, path, change] of forbiddenAsks) {
      await write(passes, { spec: { ...fine, ...change } });
      await passes.pass(1);
      const { status, message } = await passes.condition('SpecValid');
      assert.equal(status, 'False', what);
      assert.ok(message.includes(`${path}: `) || message.includes(`${path}.`), `${what}: ${message}`);
      assert.deepEqual((await passes.find(childKinds.deployment, 'one-sync'))?.['spec'], runs?.['spec'], what);
      for (const task of ['one-migrate', 'one-clone', 'one-rotate']) {
        assert.equal(await passes.find(jobKind, task), undefined, what);
      }
      assert.equal(await passes.find(childKinds.ingress, 'one-query'), undefined, what);
    }
  });

  it('gets no container, account or name space of the node: there are no such fields', async () => {
    const passes = await use();
    await grant(passes, MALLORY, { apiGroups, resources: ['ingesters'], verbs: ['update'] });
    await passes.ask(fine);
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
    await write(passes, { spec: { ...fine, podTemplate } });
    await passes.pass(4);
    const made = JSON.stringify((await passes.find(childKinds.deployment, 'one-sync'))?.['spec']);
    assert.match(made, /"serviceAccountName":"ingester-reconciler"/);
    assert.doesNotMatch(made, /theirs|platform-admin|hostNetwork":true|hostPID":true|"runAsUser":0/);
  });

  it('gets it when the ConfigMap permits it, and no longer when that is taken back', async () => {
    const passes = await use();
    await passes.ask({ ...fine, database: { credentialsSecret: theirs } });
    await passes.pass(3);
    assert.equal(await passes.find(childKinds.deployment, 'one-sync'), undefined);
    await passes.create(childKinds.configMap, PERMITTED_CONFIG_MAP, { data: { secrets: `ingester-* ${theirs}` } });
    await passes.pass(4);
    assert.match(JSON.stringify(await passes.find(childKinds.deployment, 'one-sync')), /platform-admin/);
    assert.equal((await passes.condition('SpecValid')).status, 'True');
    await passes.remove(childKinds.configMap, PERMITTED_CONFIG_MAP);
    await passes.pass(2);
    assert.equal((await passes.condition('SpecValid')).status, 'False');
  });
});

describe('who may update the status of Ingesters, too', () => {
  it('gets nothing by writing it there as what runs, ran well or is being rotated to', async () => {
    const passes = await use();
    const apiGroups = ['ingester.michelangelo.api'];
    await grant(passes, MALLORY, { apiGroups, resources: ['ingesters', 'ingesters/status'], verbs: ['update'] });
    await passes.ask(fine);
    await passes.pass(4);
    const forged = { spec: { ...fine, image: 'registry.example.com/theirs:1' }, generation: 1 };
    const status = await passes.status();
    const rotated = {
      from: 'ingester-mysql',
      to: theirs,
      previous: theirs,
      adminSecret: theirs,
      run: 'r',
      state: 'InUse',
    };
    await write(passes, { spec: { ...fine, image: 'no' } });
    const credentials = { ...status.lifecycle, credentials: rotated };
    await write(passes, { status: { ...status, target: forged, stable: forged, lifecycle: credentials } }, '/status');
    const assertNothingTheirs = async (): Promise<void> => {
      const made = [
        await passes.find(childKinds.deployment, 'one-sync'),
        await passes.find(childKinds.configMap, 'one-sync-config'),
      ];
      assert.doesNotMatch(JSON.stringify(made), /theirs|platform-admin/);
    };
    await passes.pass(4);
    await assertNothingTheirs();
    await write(passes, { spec: fine });
    await passes.pass(4);
    await assertNothingTheirs();
    for (const task of ['one-finish', 'one-rotate']) assert.equal(await passes.find(jobKind, task), undefined);
  });
});
