// The objects of each component in the status, with those that are not there; pure.
import { type ComponentName, componentNames } from '../../api/ingester/spec.ts';
import type { ComponentStatus, IngesterStatus } from '../../api/ingester/status.ts';
import { valueAt } from '../../base/json.ts';
import { componentChildren } from '../children/components.ts';
import { type Child, keyOf } from '../children/kinds.ts';
import { COMPONENT_LABEL, type Parent } from '../children/names.ts';
import { networkChildren, serviceChildren } from '../children/network.ts';
import type { Observation } from './observe.ts';

/** Of what is applied, or was last. */
export function withObjects(
  status: IngesterStatus,
  parent: Parent,
  { children }: Pick<Observation, 'children'>,
): IngesterStatus {
  const { target, components } = status;
  if (target === undefined || components === undefined) return status;
  const { spec } = target;
  const wanted = [
    ...componentChildren(parent, spec, {}),
    ...serviceChildren(parent, spec, 'query'),
    ...networkChildren(parent, spec),
  ];
  const alive = children.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
  const there = new Set(alive.map(({ kind, object }) => keyOf({ kind, name: object.metadata.name })));
  const listed = componentNames.flatMap((name): readonly (readonly [ComponentName, ComponentStatus])[] => {
    const known = components[name];
    if (known === undefined) return [];
    const objects = wanted.filter((child) => componentOf(child) === name).map(keyOf);
    const missing = objects.filter((key) => !there.has(key));
    return [[name, { ...known, objects, ...(missing.length === 0 ? {} : { missing }) }]];
  });
  return { ...status, components: Object.fromEntries(listed) };
}

function componentOf({ body }: Child): unknown {
  return valueAt(body, ['metadata', 'labels', COMPONENT_LABEL]);
}
