import { before, describe } from 'node:test';
import type { ApiCall } from './api-server.ts';
import { type Admission, useAdmission } from './use-admission.ts';
import { noPolicies, replaceByPolicies } from './without-webhook.ts';

export interface Attacked {
  readonly admission: () => Admission;
  readonly variant: 'webhook' | 'policies';
  /** A namespace of its own. */
  readonly namespace: string;
}

/** Users without any group, so what is bound to their names is all that they may. */
export const WRITER = 'a-writer-without-delete';
export const OWNER = 'an-owner-with-delete';
export const RECONCILER = 'system:serviceaccount:ingester-system:ingester-reconciler';

/** The same attacks on one API server: first on the webhook, then on the policies that replace it. */
export function inBothVariants(name: string, attacks: (attacked: Attacked) => void): void {
  describe(name, () => {
    const admission = useAdmission();
    before(() => letWrite(admission()));
    for (const variant of ['webhook', 'policies'] as const) {
      describe(`with the ${variant}`, { skip: variant === 'policies' && noPolicies }, () => {
        const namespace = `attacked-by-${variant}`;
        before(async () => {
          if (variant === 'policies') await replaceByPolicies(admission());
          const body = { metadata: { name: namespace } };
          await admission().api.must({ method: 'POST', path: '/api/v1/namespaces', body });
        });
        attacks({ admission, variant, namespace });
      });
    }
  });
}

async function letWrite({ api }: Admission): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const write = ['get', 'list', 'create', 'update', 'patch'];
  for (const [user, verbs] of [
    [WRITER, write],
    [OWNER, [...write, 'delete', 'deletecollection']],
  ] as const) {
    const rules = [{ apiGroups: ['michelangelo.api'], resources: ['*'], verbs }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
    const calls: readonly ApiCall[] = [
      { method: 'POST', path: `${rbac}/clusterroles`, body: { metadata: { name: user }, rules } },
      { method: 'POST', path: `${rbac}/clusterrolebindings`, body: { metadata: { name: user }, roleRef, subjects } },
    ];
    for (const call of calls) await api.must(call);
  }
}
