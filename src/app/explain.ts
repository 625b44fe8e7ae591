import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { IngesterSpec } from '../api/ingester/spec.ts';
import { INGESTER_KIND } from '../api/ingester.ts';
import type { KubernetesObject } from '../api/object.ts';
import { systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { ConfigurationError } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { type DryRun, dryRun, type Explanation, explain } from '../lifecycle/explain.ts';
import { observe } from '../lifecycle/observe.ts';
import { forbiddenIn, readPermitted } from '../lifecycle/permitted.ts';
import { plan } from '../lifecycle/plan.ts';
import { ingesters, planInput } from '../lifecycle/reconciler.ts';
import { problemsOf } from '../lifecycle/validate.ts';
import { takenNames } from '../lifecycle/wanted.ts';
import { commandClient } from './command-client.ts';

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

/** Reads everything a pass would read, and writes nothing. */
export async function runExplain(
  configuration: Configuration,
  { namespace = configuration.control.namespace, name, file, signal }: ExplainRun,
): Promise<ExplainReport> {
  const manifest = file === undefined ? undefined : readSpec(file);
  const client = commandClient(configuration, systemClock);
  try {
    const object = await client.get({ resource: ingesters, namespace, name });
    const parent = { namespace, name, uid: object.metadata.uid };
    const now = systemClock.now();
    const seen = await observe(client, parent, now, signal);
    // What the controller itself runs from it alone knows.
    const permitted = await readPermitted(client, namespace, '*');
    const bare = planInput(object, parent, { facts: seen.facts, now, permitted });
    const { world } = plan(bare);
    const input = world === undefined ? bare : { ...bare, taken: await takenNames(client, { parent, world, seen }) };
    const report = { name, ...explain(input) };
    if (manifest === undefined) return report;
    const { spec, problems } = await asStored(client, object, manifest);
    return {
      ...report,
      dryRun: dryRun(input, spec, [...problems, ...problemsOf(name, spec), ...forbiddenIn(spec, permitted)]),
    };
  } finally {
    await client.close();
  }
}

/** As the API server would store it, with its defaults; what it refuses is a problem, and the rest is told all the same. */
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
