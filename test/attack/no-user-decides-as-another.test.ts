// Who approved or rejected a change of an Ingester: no user can put the name of another one there, with a webhook, with the
// policies that replace it, or while nothing but the policy of the lifecycle component is there.
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { approval, type Decision, rejection } from '../../src/api/ingester/decisions.ts';
import { valueAt } from '../../src/base/json.ts';
import { type ApiAnswer, contentTypes } from '../support/api-server.ts';
import { inBothVariants } from '../support/both-variants.ts';
import { eventually } from '../support/eventually.ts';
import { fine } from '../support/ingester-asks.ts';

const NS = 'ingester-system';
const ingesters = `/apis/ingester.michelangelo.api/v1/namespaces/${NS}/ingesters`;
const rbac = '/apis/rbac.authorization.k8s.io/v1';
type Annotations = Readonly<Record<string, string | null>>;

inBothVariants('who decides on a change of an Ingester', ({ admission, variant }) => {
  const name = `decided-by-${variant}`;
  const path = `${ingesters}/${name}`;
  const annotate = (as: string, annotations: Annotations, query = ''): Promise<ApiAnswer> => {
    const body = { metadata: { annotations } };
    return admission().api.call({
      method: 'PATCH',
      path: `${path}${query}`,
      body,
      contentType: contentTypes.merge,
      as,
    });
  };
  const named = async ({ by }: Decision): Promise<unknown> =>
    valueAt(await admission().api.must({ method: 'GET', path }), ['metadata', 'annotations', by]);
  const refused = async (as: string, annotations: Annotations): Promise<void> => {
    const { status, body } = await annotate(as, annotations);
    assert.equal(status, 403, JSON.stringify(body.metadata));
    assert.match(body.message ?? '', /is named with it/);
  };

  before(async () => {
    const { api, controlPlane } = admission();
    await controlPlane.kubectlRun(['apply', '-f', 'config/components/lifecycle/decisions.yaml']);
    const data = { images: 'michelangelo-ingester' };
    const permitted = { metadata: { name: 'ingester-permitted' }, data };
    const maps = `/api/v1/namespaces/${NS}/configmaps`;
    await api.call({ method: 'POST', path: maps, body: permitted });
    const rules = [{ apiGroups: ['ingester.michelangelo.api'], resources: ['ingesters'], verbs: ['get', 'patch'] }];
    const role = { metadata: { name: `decides-${variant}` }, rules };
    await api.must({ method: 'POST', path: `${rbac}/clusterroles`, body: role });
    const subjects = ['alice', 'mallory'].map((user) => {
      return { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user };
    });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role.metadata.name };
    const binding = { metadata: role.metadata, roleRef, subjects };
    await api.must({ method: 'POST', path: `${rbac}/clusterrolebindings`, body: binding });
    const object = { apiVersion: 'ingester.michelangelo.api/v1', kind: 'Ingester', metadata: { name }, spec: fine };
    await eventually(async () =>
      assert.equal((await api.call({ method: 'POST', path: ingesters, body: object })).status, 201),
    );
    // The API server learns of rights, policies and registrations by watches.
    await eventually(async () => {
      const { status } = await annotate('alice', { [approval.token]: 'probe' }, '?dryRun=All');
      assert.equal(status, 200);
      const kept = { [approval.by]: 'bob', [approval.token]: null };
      assert.equal((await annotate('alice', kept, '?dryRun=All')).status, 200);
    });
  });

  for (const decision of [approval, rejection]) {
    const { token, by } = decision;

    it(`a user who sets ${token} is named, also in place of a name that the user wrote`, async () => {
      assert.equal((await annotate('alice', { [token]: 'one' })).status, 200);
      assert.equal(await named(decision), 'alice');
      assert.equal((await annotate('mallory', { [token]: 'two', [by]: 'alice' })).status, 200);
      assert.equal(await named(decision), 'mallory');
    });

    it(`a user who leaves ${token} as it was cannot change whose it is, and other updates go through`, async () => {
      // The API server may learn of the policy last.
      await eventually(async () =>
        assert.equal((await annotate('mallory', { [by]: 'alice' }, '?dryRun=All')).status, 403),
      );
      await refused('mallory', { [by]: 'alice' });
      await refused('alice', { [by]: null });
      assert.equal((await annotate('alice', { 'example.com/other': token })).status, 200);
      assert.equal(await named(decision), 'mallory');
      assert.equal((await annotate('alice', { [token]: null, [by]: null })).status, 200);
    });
  }

  it('a user can name no other one while no webhook answers and no policy fills in the name, and can decide', async () => {
    const { api, controlPlane, webhook } = admission();
    if (variant === 'webhook') await webhook.process.stop();
    else await controlPlane.kubectlRun(['delete', 'mutatingadmissionpolicybinding', 'ingester-decision-by']);
    // It would refuse the update for want of an answer.
    const rules = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ingester-rules';
    await api.call({ method: 'DELETE', path: rules });
    const unnamed = { [approval.token]: 'three' };
    await eventually(async () => assert.equal((await annotate('mallory', unnamed, '?dryRun=All')).status, 403));
    await refused('mallory', unnamed);
    await refused('mallory', { [approval.token]: 'three', [approval.by]: 'alice' });
    assert.equal((await annotate('mallory', { [approval.token]: 'three', [approval.by]: 'mallory' })).status, 200);
    assert.equal(await named(approval), 'mallory');
  });
});
