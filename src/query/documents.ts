// The documents that describe the API and need neither the database nor the API server. The query API serves them, and
// the maintenance server while the database is worked on.
import type { Request, Response } from 'express';
import type { KindDefinition } from '../api/kind.ts';
import { type JsonObject, ownValue } from '../base/json.ts';
import { programVersion } from '../base/program-files.ts';
import { sendText } from './context.ts';
import {
  AGGREGATED_TYPE,
  aggregatedDiscovery,
  groupDocument,
  groupList,
  resourceList,
  wantsAggregated,
} from './discovery.ts';
import { GROUP_PATH, STORED_GROUP } from './names.ts';
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
