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

/** How tables are called: `lowercase` as `pipelinerun`, `snake_case` as `pipeline_run`. */
export type TableNames = 'lowercase' | 'snake_case';

const snakeCased = new Map(
  catalogue.map((kind) => [kind.kind, { ...kind, table: kind.kind.replace(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase() }]),
);

/** The kinds of these names under their tables; the same object for the same kind every time. Unknown names are left out. */
export function kindsNamed(names: readonly string[], tables: TableNames): readonly KindDefinition[] {
  const source = tables === 'snake_case' ? snakeCased : byName;
  return names.map((name) => source.get(name)).filter((kind) => kind !== undefined);
}
