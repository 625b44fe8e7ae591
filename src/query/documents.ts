// The documents that describe the API and need neither the database nor the API server. The query API serves them, and
// the maintenance server while the database is worked on.
import type { Request, Response } from 'express';
import type { KindDefinition } from '../api/kind.ts';
import { VERSION } from '../api/names.ts';
import { type JsonObject, ownValue } from '../base/json.ts';
import { programVersion } from '../base/program-files.ts';
import { sendText } from './context.ts';
import { GROUP_PATH, STORED_GROUP, STORED_GROUP_VERSION } from './names.ts';
import { parseAccept } from './negotiate.ts';
import { emptyOpenApiV2 } from './openapi.ts';

const documents: Readonly<Record<string, (kinds: readonly KindDefinition[]) => JsonObject>> = {
  '/apis': groupList,
  [`/apis/${STORED_GROUP}`]: groupDocument,
  [GROUP_PATH]: resourceList,
  '/openapi/v2': emptyOpenApiV2,
  '/version': () => ({ gitVersion: programVersion() }),
};

/** Whether the request was for one of them, and is answered. */
export function sendDocument(
  { method, path, headers }: Request,
  response: Response,
  kinds: readonly KindDefinition[],
): boolean {
  const document = ownValue(documents, path);
  if (method !== 'GET' || document === undefined) return false;
  if (path === '/apis' && wantsAggregated(headers.accept)) {
    sendJson(response, aggregatedDiscovery(kinds), AGGREGATED_TYPE);
    return true;
  }
  sendJson(response, document(kinds));
  return true;
}

export function sendJson(response: Response, document: JsonObject, type = 'application/json'): void {
  sendText(response, JSON.stringify(document), type);
}

// Discovery documents: what `kubectl api-resources` and the mapping of `kubectl get models.stored...` read. Both the
// aggregated form (one document) and the older ones (group list, group, resource list) are served.

/** Without `delete` and `deletecollection`: the namespace controller would empty MySQL with them. */
const VERBS = ['get', 'list', 'patch'];
const groupVersion = { groupVersion: STORED_GROUP_VERSION, version: VERSION };
const group = { name: STORED_GROUP, versions: [groupVersion], preferredVersion: groupVersion };

/** Whether the client understands the aggregated form. */
function wantsAggregated(accept: string | undefined): boolean {
  return parseAccept(accept).some(
    ({ type, parameters }) =>
      type === 'application/json' &&
      parameters.get('g') === 'apidiscovery.k8s.io' &&
      parameters.get('v') === 'v2' &&
      parameters.get('as') === 'APIGroupDiscoveryList',
  );
}

const AGGREGATED_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

function aggregatedDiscovery(kinds: readonly KindDefinition[]): JsonObject {
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

function groupList(): JsonObject {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [group] };
}

function groupDocument(): JsonObject {
  return { kind: 'APIGroup', apiVersion: 'v1', ...group };
}

function resourceList(kinds: readonly KindDefinition[]): JsonObject {
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
