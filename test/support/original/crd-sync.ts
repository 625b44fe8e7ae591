// A stand-in for what the original's API server does to CRDs before it starts: deletes what it does not know in its group,
// creates what is missing, compares what is there with its own, and replaces it. Any error keeps it from starting.
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { CodedError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import type { ApiAnswer, ApiServer } from '../api-server.ts';
import { incompatibilities, nameOf, versionsOf } from './crd-compare.ts';

const GROUP = 'michelangelo.api';
const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Go clients that name no manager are known by the name of their program. */
const MANAGER = 'apiserver';
const RETRIES = 3;
const retried = new Set([409, 429, 500, 503, 504]);

export interface SyncSettings {
  readonly enableCRDDeletion: boolean;
  readonly skipIncompatibleCheck?: boolean;
}

/** What each of its start settings says, as it is shipped: program, sandbox and Helm chart. */
export const shippedSettings: Readonly<Record<string, SyncSettings>> = {
  program: { enableCRDDeletion: true },
  'sandbox and chart': { enableCRDDeletion: false },
};

interface Crd extends JsonObject {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string } & JsonObject;
  readonly spec: { readonly group: string; readonly names: { readonly plural: string } & JsonObject } & JsonObject;
}

export class OriginalApiServer {
  readonly #api: ApiServer;
  readonly #crds: readonly Crd[];

  constructor(api: ApiServer, crds: readonly JsonObject[]) {
    this.#api = api;
    this.#crds = crds as readonly Crd[];
  }

  /** Resolves to the names of the CRDs that it wrote; rejects where it would not start, and says why. */
  async start({ enableCRDDeletion, skipIncompatibleCheck = false }: SyncSettings): Promise<readonly string[]> {
    const { items } = (await this.#api.must({ method: 'GET', path: PATH })) as unknown as { items: readonly Crd[] };
    const unknown = items.filter(
      ({ spec, metadata }) => spec.group === GROUP && this.#crds.every((crd) => crd.metadata.name !== metadata.name),
    );
    if (enableCRDDeletion) for (const crd of unknown) await this.#delete(crd);
    const written: string[] = [];
    for (const crd of this.#crds) {
      if (await this.#upsertAgain(crd, skipIncompatibleCheck)) written.push(crd.metadata.name);
    }
    return written;
  }

  async #delete(crd: Crd): Promise<void> {
    const { name } = crd.metadata;
    if (await this.#hasInstances(crd)) throw failed(`failed to delete CRD ${name}. There are existing resources`);
    succeeded(await this.#api.call({ method: 'DELETE', path: `${PATH}/${name}` }), `delete ${name}`);
  }

  async #upsertAgain(crd: Crd, force: boolean): Promise<boolean> {
    for (let left = RETRIES; ; left -= 1) {
      try {
        return await this.#upsert(crd, force);
      } catch (error) {
        if (left === 0 || !(error instanceof OriginalError) || !retried.has(error.status)) throw error;
        await delay(100);
      }
    }
  }

  async #upsert(crd: Crd, force: boolean): Promise<boolean> {
    const { name } = crd.metadata;
    const there = await this.#api.call({ method: 'GET', path: `${PATH}/${name}` });
    if (there.status === 404) {
      succeeded(
        await this.#api.call({ method: 'POST', path: `${PATH}?fieldManager=${MANAGER}`, body: crd }),
        `create ${name}`,
      );
      return true;
    }
    const before = succeeded(there, `get ${name}`) as unknown as Crd;
    if (!hasChange(before, crd)) return false;
    const found = incompatibilities(before, crd);
    if (found.length > 0 && !force && (await this.#hasInstances(before)))
      throw failed(`Schema is incompatible, and there are existing instances. Abort updating CRD ${name}: ${found[0]}`);
    const { resourceVersion = '' } = before.metadata;
    const body = { ...crd, metadata: { ...crd.metadata, resourceVersion } };
    const path = `${PATH}/${name}?fieldManager=${MANAGER}`;
    succeeded(await this.#api.call({ method: 'PUT', path, body }), `update ${name}`);
    return true;
  }

  async #hasInstances(crd: Crd): Promise<boolean> {
    for (const version of versionsOf(crd)) {
      const path = `/apis/${crd.spec.group}/${nameOf(version)}/${crd.spec.names.plural}?limit=1`;
      const answer = await this.#api.call({ method: 'GET', path });
      if (answer.status === 404) continue;
      const { items } = succeeded(answer, path) as unknown as { items: readonly unknown[] };
      if (items.length > 0) return true;
    }
    return false;
  }
}

/** A conversion that is not named differs from the one that the API server fills in, so nearly every start writes. */
function hasChange(before: Crd, after: Crd): boolean {
  return (
    !isDeepStrictEqual(versionsOf(before), versionsOf(after)) ||
    !isDeepStrictEqual(before.spec['conversion'], after.spec['conversion'])
  );
}

class OriginalError extends CodedError {
  readonly status: number;

  constructor(message: string, status: number) {
    super('ORIGINAL_DID_NOT_START', message);
    this.status = status;
  }
}

function failed(message: string, status = 0): OriginalError {
  return new OriginalError(message, status);
}

function succeeded({ status, body }: ApiAnswer, what: string): ApiAnswer['body'] {
  if (status < 300) return body;
  throw failed(`${what}: ${body.message ?? String(status)}`, status);
}
