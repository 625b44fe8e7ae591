// The controller's part of what an Ingester may ask for: it checks specification and status in each reconcile, webhook or
// not.
import {
  type Claim,
  forbiddenClaims,
  isPermitted,
  PERMITTED_CONFIG_MAP,
  type Permitted,
  permittedBy,
} from '../../api/ingester/permitted.ts';
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { IngesterStatus } from '../../api/ingester/status.ts';
import type { KubeClient } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { configMapRef, dataOf } from '../../kube/resources.ts';

/** Read in every reconcile: a permission that is taken back counts at once. */
export async function readPermitted(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  repository: string | undefined,
): Promise<Permitted> {
  const own = await ifFound(client.get(configMapRef(namespace, PERMITTED_CONFIG_MAP)));
  return permittedBy(dataOf(own), repository);
}

/** Every problem, each with its path and what would permit it. */
export function forbiddenIn(spec: IngesterSpec, permitted: Permitted): readonly string[] {
  return forbiddenClaims(spec, permitted).map(problem);
}

/** Without what the resource itself may not ask for: the right to write the status must not permit more. */
export function permittedStatus(status: IngesterStatus, permitted: Permitted): IngesterStatus {
  const { target, stable, lifecycle, ...rest } = status;
  const names = [lifecycle?.credentials?.to, lifecycle?.credentials?.previous, lifecycle?.credentials?.adminSecret];
  const known = names.filter((name) => name !== undefined);
  const areKnown = known.every((value) => isPermitted({ what: 'secrets', value }, permitted));
  const isFine = (of: IngesterStatus['target']): boolean =>
    of !== undefined && forbiddenIn(of.spec, permitted).length === 0;
  const { credentials: _, ...without } = lifecycle ?? {};
  return {
    ...rest,
    ...(isFine(target) ? { target } : {}),
    ...(isFine(stable) ? { stable } : {}),
    ...(lifecycle === undefined ? {} : { lifecycle: areKnown ? lifecycle : (without as typeof lifecycle) }),
  };
}

function problem({ what, path, value }: Claim): string {
  const shown = value.length <= 60 ? value : `${value.slice(0, 59)}…`;
  return `${path}: ${JSON.stringify(shown)} is not permitted; "${what}" in the ConfigMap ${PERMITTED_CONFIG_MAP} permits`;
}
