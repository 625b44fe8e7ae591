// Names, labels and owner of everything that belongs to an Ingester resource. Deterministic, so that whatever a crash left
// behind is found again.
import { type ComponentName, INGESTER_GROUP, INGESTER_KIND, INGESTER_VERSION } from '../../api/ingester/spec.ts';
import type { StepName } from '../../api/ingester/status.ts';
import { BUNDLE_LABEL, BUNDLE_NAME, INGESTER_LABEL } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { isJsonObject, valueAt } from '../../base/json.ts';

export interface Parent {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export const MAINTENANCE = 'maintenance-page';
/** Label with the component or the step. */
export const COMPONENT_LABEL = 'app.kubernetes.io/component';
/** Label of Services that lead to metrics, with the name of the job that Prometheus gives the series. */
export const METRICS_JOB_LABEL = 'ingester.michelangelo.api/job';
/** Run that a Job was created for. */
export const RUN_ANNOTATION = 'michelangelo/run';
/** Hash of the specification that was applied. */
export const APPLIED_ANNOTATION = 'michelangelo/applied';
/** Hash of the configuration; a change restarts the pods of this component and no others. */
export const CONFIG_ANNOTATION = 'michelangelo/config-checksum';

export type Part = ComponentName | StepName | typeof MAINTENANCE;

export function childName({ name }: Parent, part: Part): string {
  return `${name}-${part}`;
}

/** Holder of the writer gate for this resource; a resource that is created again under the same name has the same. */
export function gateHolder({ namespace, name }: Parent): string {
  return `lifecycle/${namespace}/${name}`;
}

/** The part of the labels by which pods are selected: it can never change. */
export function selectorLabels(parent: Parent, part: Part): Readonly<Record<string, string>> {
  return { [BUNDLE_LABEL]: BUNDLE_NAME, [COMPONENT_LABEL]: part, [INGESTER_LABEL]: parent.name };
}

export function ownerReference({ name, uid }: Parent): object {
  return {
    apiVersion: `${INGESTER_GROUP}/${INGESTER_VERSION}`,
    kind: INGESTER_KIND,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function childMetadata(parent: Parent, part: Part, name: string = childName(parent, part)): object {
  const { namespace } = parent;
  return { name, namespace, labels: selectorLabels(parent, part), ownerReferences: [ownerReference(parent)] };
}

/** Only the uid of the controlling owner says whose an object is, never a name or a label. */
export function isControlledBy(object: KubernetesObject, kind: string, uid: string): boolean {
  const owners = valueAt(object, ['metadata', 'ownerReferences']);
  if (!Array.isArray(owners)) return false;
  return owners.some(
    (owner) => isJsonObject(owner) && owner['controller'] === true && owner['kind'] === kind && owner['uid'] === uid,
  );
}

export function isOurs(object: KubernetesObject, { uid }: Parent): boolean {
  return isControlledBy(object, 'Ingester', uid);
}
