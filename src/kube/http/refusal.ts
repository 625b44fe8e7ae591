// What it means that a write was refused. By the same statuses the API server says that the object is not as the call
// required, and that an admission policy or webhook, whosoever it is, refused the call: 422 is a JSON patch whose test
// failed and a ValidatingAdmissionPolicy that denies, and a webhook may answer with 404 or 409. So the object is read
// again, and only what is really otherwise was a lost race.
import type { KubernetesObject } from '../../api/object.ts';
import { isJsonObject, sameJson } from '../../base/json.ts';
import type { DeleteOptions, JsonPatch } from '../client.ts';
import { KubeError, type KubeReason } from '../errors.ts';

const ambiguous: ReadonlySet<KubeReason> = new Set(['NotFound', 'Conflict', 'Invalid']);

export interface Required {
  /** Reads the object again. */
  readonly read: () => Promise<KubernetesObject>;
  /** Whether the object is as the call required. */
  readonly holds: (object: KubernetesObject) => boolean;
}

/** Gives what the write gives, or fails with what its refusal means: NotFound and Conflict are proven, the rest is Refused. */
export async function explained<T>(write: () => Promise<T>, { read, holds }: Required): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof KubeError) || !ambiguous.has(error.reason)) throw error;
    const { message, retryAfterMs } = error;
    const reason = holds(await read()) ? 'Refused' : 'Conflict';
    throw new KubeError(reason, message, { cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  }
}

/** Whether every test of the patch holds. No patch of this program changes what a later one of its tests looks at. */
export function testsHold(patch: JsonPatch, object: KubernetesObject): boolean {
  return patch.every((operation) => operation.op !== 'test' || sameJson(at(object, operation.path), operation.value));
}

export function isNamedBy({ uid, resourceVersion }: DeleteOptions, { metadata }: KubernetesObject): boolean {
  return (
    (uid ?? metadata.uid) === metadata.uid && (resourceVersion ?? metadata.resourceVersion) === metadata.resourceVersion
  );
}

/** The value at a JSON pointer. */
function at(root: unknown, pointer: string): unknown {
  const steps = pointer.split('/').slice(1);
  return steps.reduce((value: unknown, step) => {
    if (Array.isArray(value)) return value[Number(step)] as unknown;
    return isJsonObject(value) ? value[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  }, root);
}
