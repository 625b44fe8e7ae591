import { catalogue } from '../../schema/kinds/catalogue.ts';
import type { KindDefinition } from './kind.ts';

export const allKinds: readonly KindDefinition[] = catalogue;

/** The 13 kinds that are ingested unless the configuration says otherwise. */
export const defaultKinds: readonly KindDefinition[] = catalogue.filter((kind) => !kind.optional);

const byName = new Map(catalogue.map((kind) => [kind.kind, kind]));

export function findKind(name: string): KindDefinition | undefined {
  return byName.get(name);
}

/** Name of the CustomResourceDefinition, e.g. `models.michelangelo.api`. */
export function crdName(kind: Pick<KindDefinition, 'plural'>): string {
  return `${kind.plural}.michelangelo.api`;
}
