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
  if (text.includes(',')) return `"${text.slice(0, 100)}" is several kinds, and one is asked for here`;
  return `There is no kind "${text.slice(0, 100)}"; ${KINDS}`;
}

const plurals = (names: readonly KindName[]): string => names.map(({ plural }) => plural).join(', ');

/** For messages. Which of the optional ones are there, the cluster knows. */
export const KINDS: string =
  `there are ${plurals(kindNames.filter(({ optional }) => !optional))}, ` +
  `and where they are ingested ${plurals(kindNames.filter(({ optional }) => optional))}`;
