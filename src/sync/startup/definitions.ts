// What the Ingester needs of the CRD of a kind, whichever program installed it: found out once, when the CRD is there.
import type { KindDefinition } from '../../api/kind.ts';
import { VERSION } from '../../api/names.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import { Complaint } from '../../base/complaint.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { crdName } from '../../kinds/kind-names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { definitions } from '../../kube/resources.ts';

export interface DefinitionsOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly kinds: readonly KindDefinition[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 60_000;
const PAGE = 'docs/michelangelo.md#what-it-needs-of-the-crds';

/** Ends when the CRD of every kind was looked at. One that is not installed is waited for. */
export async function checkDefinitions(options: DefinitionsOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, logger } = options;
  const complaint = new Complaint(logger, 'Cannot look at the CRDs of the kinds; apply the RBAC of the bundle');
  const left = new Set(options.kinds);
  const done = new AbortController();
  await repeat({ clock, periodMs: PERIOD_MS, signal: AbortSignal.any([signal, done.signal]) }, async () => {
    try {
      for (const kind of left) {
        const one = { fieldSelector: `metadata.name=${crdName(kind)}`, limit: 1 };
        const [found] = (await client.list(definitions, one, signal)).items;
        if (found === undefined) continue;
        report(kind, found.parse() as unknown as JsonObject, logger);
        left.delete(kind);
      }
      complaint.over();
    } catch (error) {
      complaint.say(error);
    }
    if (left.size === 0) done.abort();
  });
}

function report(kind: KindDefinition, crd: JsonObject, logger: Logger): void {
  const name = crdName(kind);
  const [missing, empty] = [missingNeeds(kind, crd), emptyColumns(kind, crd)];
  if (missing.length > 0)
    logger.error({ crd: name, missing }, `CRD ${name} lacks what the Ingester needs: ${missing.join('; ')} (${PAGE})`);
  if (empty.length > 0)
    logger.warn({ crd: name, columns: empty }, `CRD ${name} lacks the fields of columns, which stay empty (${PAGE})`);
}

/** Pure. Without these the kind is not stored as it should be. */
export function missingNeeds(kind: KindDefinition, crd: JsonObject): readonly string[] {
  const version = versionOf(crd);
  const named = valueAt(crd, ['spec', 'names', 'kind']);
  return [
    ...(named === kind.kind ? [] : [`its kind is ${String(named)}, not ${kind.kind}`]),
    ...(valueAt(crd, ['spec', 'scope']) === 'Namespaced' ? [] : ['it is not namespaced']),
    ...(version?.['served'] === true ? [] : [`version ${VERSION} is not served`]),
    ...(isJsonObject(valueAt(version, ['subresources', 'status'])) ? [] : ['it has no status subresource']),
  ];
}

/** Pure. Columns whose field the schema does not have, by name. */
export function emptyColumns(kind: KindDefinition, crd: JsonObject): readonly string[] {
  const schema = valueAt(versionOf(crd), ['schema', 'openAPIV3Schema']);
  return kind.indexes
    .flat()
    .filter(({ path }) => path[0] !== 'metadata' && !isKept(schema, path))
    .map(({ name }) => name);
}

function versionOf(crd: JsonObject): JsonObject | undefined {
  const versions = valueAt(crd, ['spec', 'versions']);
  if (!Array.isArray(versions)) return undefined;
  return versions.filter((version) => isJsonObject(version)).find(({ name }) => name === VERSION);
}

/** Whether the API server keeps a value at the path. */
function isKept(schema: unknown, [step, ...rest]: readonly string[]): boolean {
  if (schema === true) return true;
  if (!isJsonObject(schema)) return false;
  if (step === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true) return true;
  return isKept(valueAt(schema, ['properties', step]) ?? schema['additionalProperties'], rest);
}
