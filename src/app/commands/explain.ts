import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { INGESTER_KIND, type IngesterSpec } from '../../api/ingester/spec.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { systemClock } from '../../base/clock.ts';
import { CodedError, messageOf } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { ConfigurationError } from '../../config/load.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import { type DryRun, dryRun, type Explanation, explain } from '../../lifecycle/plan/explain.ts';
import { plan } from '../../lifecycle/plan/plan.ts';
import { takenNames } from '../../lifecycle/reconcile/desired-children.ts';
import { observe } from '../../lifecycle/reconcile/observe.ts';
import { readPermitted } from '../../lifecycle/reconcile/permitted.ts';
import { ingesters, planInput, problemsIn } from '../../lifecycle/reconcile/reconciler.ts';
import { commandClient } from '../kube-client.ts';

export interface ExplainRun {
  /** Undefined: that of the bundle. */
  readonly namespace: string | undefined;
  readonly name: string;
  /** A manifest that is not applied yet. */
  readonly file: string | undefined;
  readonly signal: AbortSignal;
}

export interface ExplainReport extends Explanation {
  readonly name: string;
  readonly dryRun?: DryRun;
}

/** Nothing is there to be explained. */
export class IngesterMissingError extends CodedError {
  constructor(namespace: string, name: string) {
    super(
      'INGESTER_MISSING',
      `There is no Ingester resource ${name} in namespace ${namespace}. Without one the configuration files decide, and ` +
        '"ingester status" says how the parts are; name another one, or its namespace with -n.',
    );
  }
}

/** Reads everything a reconcile would read, and writes nothing. */
export async function runExplain(
  configuration: Configuration,
  { namespace = configuration.kubernetes.namespace, name, file, signal }: ExplainRun,
): Promise<ExplainReport> {
  const manifest = file === undefined ? undefined : readSpec(file);
  const client = commandClient(configuration, systemClock);
  try {
    const object = await ifFound(client.get({ resource: ingesters, namespace, name }));
    if (object === undefined) throw new IngesterMissingError(namespace, name);
    const parent = { namespace, name, uid: object.metadata.uid };
    const now = systemClock.now();
    const observation = await observe(client, parent, now, signal);
    // Only the controller knows the repository that it runs from.
    const permitted = await readPermitted(client, namespace, '*');
    const bare = planInput(object, parent, { observed: observation.state, now, permitted });
    const { desired } = plan(bare);
    const input =
      desired === undefined ? bare : { ...bare, taken: await takenNames(client, { parent, desired, observation }) };
    const report = { name, ...explain(input) };
    if (manifest === undefined) return report;
    const { spec, problems } = await asStored(client, object, manifest);
    return {
      ...report,
      dryRun: dryRun(input, spec, [...problems, ...problemsIn(parent, spec, { status: input.status, permitted })]),
    };
  } finally {
    await client.close();
  }
}

/** As the API server would store it, with its defaults; a refusal is reported as a problem, and the rest of the report as well. */
async function asStored(
  client: KubeClient,
  object: KubernetesObject,
  spec: IngesterSpec,
): Promise<{ readonly spec: IngesterSpec; readonly problems: readonly string[] }> {
  const { namespace, name } = object.metadata;
  try {
    const patch = [{ op: 'replace', path: '/spec', value: spec as unknown as JsonObject }] as const;
    const stored = await client.patch({ resource: ingesters, namespace, name }, patch, { dryRun: true });
    return { spec: stored['spec'] as unknown as IngesterSpec, problems: [] };
  } catch (error) {
    if (!isKubeError(error, 'Invalid') && !isKubeError(error, 'Forbidden')) throw error;
    return { spec, problems: [messageOf(error)] };
  }
}

function readSpec(file: string): IngesterSpec {
  const invalid = (message: string): ConfigurationError => new ConfigurationError(file, [{ path: '', message }]);
  let manifest: unknown;
  try {
    manifest = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw invalid(messageOf(error));
  }
  if (!isJsonObject(manifest) || manifest['kind'] !== INGESTER_KIND || !isJsonObject(manifest['spec'])) {
    throw invalid(`expected one manifest of kind ${INGESTER_KIND} with a spec`);
  }
  return manifest['spec'] as unknown as IngesterSpec;
}
