// The names of kinds, for callers that need no more. Kinds with their tables come from the configuration
// (src/app/kinds.ts), because the tables of one kind have two names.

import type { KindDefinition } from '../api/kind.ts';
import { catalogue } from './catalogue.ts';

export type KindName = Pick<KindDefinition, 'kind' | 'plural' | 'optional'>;

export const kindNames: readonly KindName[] = catalogue.map(({ kind, plural, optional }) => ({
  kind,
  plural,
  optional,
}));

const known: ReadonlySet<string> = new Set(kindNames.map(({ kind }) => kind));

export function isKind(name: string): boolean {
  return known.has(name);
}

/** As users write it: `models`, `model`, `Model` or `models.michelangelo.api`. */
export function findKindName(text: string): KindName | undefined {
  const [word = ''] = text.toLowerCase().split('.');
  return kindNames.find(({ kind, plural }) => plural === word || kind.toLowerCase() === word);
}

/** Name of the CustomResourceDefinition, e.g. `models.michelangelo.api`. */
export function crdName(kind: Pick<KindDefinition, 'plural'>): string {
  return `${kind.plural}.michelangelo.api`;
}

/** How tables are called: `lowercase` as `pipelinerun`, `snake_case` as `pipeline_run`. */
export type TableNames = 'lowercase' | 'snake_case';

/** `auto`: as the database has them. */
export type TableNamesSetting = TableNames | 'auto';
