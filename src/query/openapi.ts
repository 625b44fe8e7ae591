// OpenAPI documents, from the schemas of the installed CRDs: what `kubectl explain models --api-version=stored...` reads.
import type { KindDefinition } from '../api/kind.ts';
import { VERSION } from '../api/names.ts';
import { sha256Hex } from '../base/hash.ts';
import { isJsonObject, type JsonObject, type JsonValue, valueAt } from '../base/json.ts';
import { crdName } from '../kinds/kind-names.ts';
import type { KubeClient } from '../kube/client.ts';
import { ifFound } from '../kube/found.ts';
import { definitions } from '../kube/resources.ts';
import { BoundedCache } from './bounded-cache.ts';
import { STORED_GROUP } from './names.ts';
import type { QueryAppOptions } from './options.ts';

const info = { title: 'Stored Michelangelo objects', version: VERSION };
const GROUP_VERSION_PATH = 'apis/stored.michelangelo.api/v2';

export const OPENAPI_PATH = '/openapi/v3/apis/stored.michelangelo.api/v2';

export function openApiIndex(): JsonObject {
  return { paths: { [GROUP_VERSION_PATH]: { serverRelativeURL: OPENAPI_PATH } } };
}

/** For the aggregation of the second version, where this API adds nothing. */
export function emptyOpenApiV2(): JsonObject {
  return { swagger: '2.0', info, paths: {}, definitions: {} };
}

export interface OpenApiText {
  readonly text: string;
  readonly etag: string;
}

/** Definitions change with releases. */
const KEEP_MS = 60_000;

/** The document of all kinds, made once a minute at most for all clients. */
export class OpenApi {
  readonly #options: Pick<QueryAppOptions, 'client' | 'kinds'>;
  readonly #documents: BoundedCache<OpenApiText>;

  constructor(options: Pick<QueryAppOptions, 'client' | 'kinds' | 'clock'>) {
    this.#options = options;
    this.#documents = new BoundedCache({ clock: options.clock, capacity: 1, keepMs: KEEP_MS });
  }

  document(signal: AbortSignal): Promise<OpenApiText> {
    const make = async (): Promise<OpenApiText> => {
      const text = JSON.stringify(await openApiV3(this.#options.client, this.#options.kinds));
      return { text, etag: `"${sha256Hex(text).slice(0, 32)}"` };
    };
    return this.#documents.get('all', make, signal);
  }
}

/** The schema of each kind as its CRD has it; a kind without a CRD is any object. */
async function openApiV3(client: KubeClient, kinds: readonly KindDefinition[]): Promise<JsonObject> {
  const schemas = await Promise.all(
    kinds.map(async (kind) => [schemaName(kind), await schemaOf(client, kind)] as const),
  );
  return {
    openapi: '3.0.0',
    info,
    paths: Object.assign({}, ...kinds.map(pathsOf)) as JsonObject,
    components: { schemas: Object.fromEntries(schemas) },
  };
}

async function schemaOf(client: KubeClient, kind: KindDefinition): Promise<JsonObject> {
  return { ...(await installedSchema(client, kind)), 'x-kubernetes-group-version-kind': [gvk(kind)] };
}

async function installedSchema(client: KubeClient, kind: KindDefinition): Promise<JsonObject> {
  const crd = await ifFound(client.get({ resource: definitions, namespace: '', name: crdName(kind) }));
  const versions = valueAt(crd, ['spec', 'versions']);
  const all: readonly unknown[] = Array.isArray(versions) ? versions : [];
  const version = all.find((one) => valueAt(one, ['name']) === VERSION);
  const schema = valueAt(version, ['schema', 'openAPIV3Schema']);
  if (isJsonObject(schema)) return schema;
  return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
}

function schemaName(kind: KindDefinition): string {
  return `api.michelangelo.stored.${VERSION}.${kind.kind}`;
}

function gvk({ kind }: KindDefinition): JsonObject {
  return { group: STORED_GROUP, version: VERSION, kind };
}

function pathsOf(kind: KindDefinition): JsonObject {
  const one = { $ref: `#/components/schemas/${schemaName(kind)}` };
  const collection = `/${GROUP_VERSION_PATH}/namespaces/{namespace}/${kind.plural}`;
  const list = { type: 'object', required: ['items'], properties: { items: { type: 'array', items: one } } };
  return {
    [`/${GROUP_VERSION_PATH}/${kind.plural}`]: { get: operation(kind, 'list', list) },
    [collection]: { get: operation(kind, 'list', list), parameters: [pathParameter('namespace')] },
    [`${collection}/{name}`]: {
      get: operation(kind, 'get', one),
      patch: patchOperation(kind, one),
      parameters: [pathParameter('namespace'), pathParameter('name')],
    },
  };
}

function operation(kind: KindDefinition, action: string, schema: JsonValue): JsonObject {
  return {
    tags: [`stored_${VERSION}`],
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk(kind),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } },
  };
}

function patchOperation(kind: KindDefinition, schema: JsonObject): JsonObject {
  return {
    ...operation(kind, 'patch', schema),
    parameters: [{ name: 'dryRun', in: 'query', schema: { type: 'string' } }],
    requestBody: { content: { 'application/merge-patch+json': { schema: { type: 'object' } } } },
  };
}

function pathParameter(name: string): JsonObject {
  return { name, in: 'path', required: true, schema: { type: 'string' } };
}
