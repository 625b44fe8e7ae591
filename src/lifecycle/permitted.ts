// The controller's part of what an Ingester may ask for: it judges each specification in each pass, webhook or not, and
// the status alike.
import {
  type Claim,
  forbiddenClaims,
  isPermitted,
  PERMITTED_CONFIG_MAP,
  type Permitted,
  permittedBy,
} from '../api/ingester/permitted.ts';
import type { IngesterSpec } from '../api/ingester/spec.ts';
import type { IngesterStatus } from '../api/ingester/status.ts';
import type { KubeClient } from '../kube/client.ts';
import { childKinds } from './children/kinds.ts';
import { getOrNone } from './wanted.ts';

/** Read in every pass: what is taken back counts at once. */
export async function readPermitted(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  repository: string | undefined,
): Promise<Permitted> {
  const ref = { resource: childKinds.configMap.resource, namespace, name: PERMITTED_CONFIG_MAP };
  return permittedBy((await getOrNone(client, ref))?.['data'], repository);
}

/** Every problem, each with its path and what would permit it. */
export function forbiddenIn(spec: IngesterSpec, permitted: Permitted): readonly string[] {
  return forbiddenClaims(spec, permitted).map(problem);
}

/** Without what the resource itself would not be allowed to ask for: who may write its status may not ask for more. */
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
