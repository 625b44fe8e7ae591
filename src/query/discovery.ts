// Discovery documents: what `kubectl api-resources` and the mapping of `kubectl get models.stored...` read. Both the
// aggregated form (one document) and the older ones (group list, group, resource list) are served.
import type { KindDefinition } from '../api/kind.ts';
import { VERSION } from '../api/names.ts';
import type { JsonObject } from '../base/json.ts';
import { STORED_GROUP, STORED_GROUP_VERSION } from './names.ts';
import { parseAccept } from './negotiate.ts';

/** Without `delete` and `deletecollection`: the namespace controller would empty MySQL with them. */
const VERBS = ['get', 'list', 'patch'];
const groupVersion = { groupVersion: STORED_GROUP_VERSION, version: VERSION };
const group = { name: STORED_GROUP, versions: [groupVersion], preferredVersion: groupVersion };

/** Whether the client understands the aggregated form. */
export function wantsAggregated(accept: string | undefined): boolean {
  return parseAccept(accept).some(
    ({ type, parameters }) =>
      type === 'application/json' &&
      parameters.get('g') === 'apidiscovery.k8s.io' &&
      parameters.get('v') === 'v2' &&
      parameters.get('as') === 'APIGroupDiscoveryList',
  );
}

export const AGGREGATED_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export function aggregatedDiscovery(kinds: readonly KindDefinition[]): JsonObject {
  const resources = kinds.map((kind) => ({
    resource: kind.plural,
    responseKind: { group: STORED_GROUP, version: VERSION, kind: kind.kind },
    scope: 'Namespaced',
    singularResource: kind.kind.toLowerCase(),
    verbs: VERBS,
    categories: ['stored'],
  }));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [{ metadata: { name: STORED_GROUP }, versions: [{ version: VERSION, freshness: 'Current', resources }] }],
  };
}

export function groupList(): JsonObject {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [group] };
}

export function groupDocument(): JsonObject {
  return { kind: 'APIGroup', apiVersion: 'v1', ...group };
}

export function resourceList(kinds: readonly KindDefinition[]): JsonObject {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: STORED_GROUP_VERSION,
    resources: kinds.map((kind) => ({
      name: kind.plural,
      singularName: kind.kind.toLowerCase(),
      namespaced: true,
      kind: kind.kind,
      verbs: VERBS,
      categories: ['stored'],
    })),
  };
}
