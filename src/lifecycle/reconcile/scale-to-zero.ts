// A suspended resource whose components are to have no pods. Nothing but the number of replicas is changed; applying the
// components again, when the resource is resumed, brings them back.
import { componentNames } from '../../api/ingester/spec.ts';
import type { JsonPatch, KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { childKinds } from '../children/kinds.ts';
import { childName, type Parent } from '../children/names.ts';
import { refOf } from './desired-children.ts';
import type { Observation } from './observe.ts';
import { MANIFEST_ANNOTATION } from './put-back.ts';
import { numberAt } from './reading.ts';

const { deployment } = childKinds;

export async function scaleToZero(
  client: Pick<KubeClient, 'patch'>,
  parent: Parent,
  { children }: Pick<Observation, 'children'>,
): Promise<void> {
  const names = componentNames.map((name) => childName(parent, name));
  const running = children.filter(
    ({ kind, object }) =>
      kind === deployment && names.includes(object.metadata.name) && numberAt(object, 'spec', 'replicas') > 0,
  );
  for (const { object } of running) {
    const { name, uid, annotations = {} } = object.metadata;
    const hash = annotations[MANIFEST_ANNOTATION];
    const patch: JsonPatch = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'replace', path: '/spec/replicas', value: 0 },
      // It is not as applied any more, and no other client did that.
      ...(hash === undefined
        ? []
        : [{ op: 'remove', path: `/metadata/annotations/${MANIFEST_ANNOTATION.replace('/', '~1')}` } as const]),
    ];
    try {
      await client.patch(refOf(parent, deployment, name), patch, { fieldManager: deployment.manager });
    } catch (error) {
      // Gone, or another object by now: the next reconcile sees which.
      if (!isKubeError(error, 'NotFound') && !isKubeError(error, 'Conflict')) throw error;
    }
  }
}
