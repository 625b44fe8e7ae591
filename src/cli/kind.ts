import { InvalidArgumentError } from 'commander';
import { findKindName, type KindName, kindNames } from '../kinds/kind-names.ts';
import { ArgumentError } from './errors.ts';

/** `models`, `model`, `Model`, `MODELS` or `models.michelangelo.api`. */
export function kindOf(text: string): KindName {
  const kind = findKindName(text);
  if (kind === undefined) throw new ArgumentError(unknown(text));
  return kind;
}

/** For options that name kinds, each as users write it; gives their names. */
export function kindOption(text: string, before: readonly string[] = []): readonly string[] {
  const kind = findKindName(text);
  if (kind === undefined) throw new InvalidArgumentError(`${unknown(text)}.`);
  return [...before, kind.kind];
}

function unknown(text: string): string {
  const known = kindNames.map(({ plural }) => plural).join(', ');
  return `There is no kind "${text.slice(0, 100)}"; there are ${known}`;
}
