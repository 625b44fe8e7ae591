// An object as YAML, by lines that can be folded and coloured.
import { stringify } from 'yaml';

/** The database keeps no order of keys; users expect these first. */
const first: readonly unknown[] = ['apiVersion', 'kind', 'metadata', 'name', 'namespace', 'uid', 'spec', 'status'];
const rank = (key: unknown): number => (first.includes(key) ? first.indexOf(key) : first.length);

/** `text`: JSON. Integers of any length keep their digits. */
export function toYaml(text: string): string {
  return stringify(parseExact(text), {
    lineWidth: 0,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
    aliasDuplicateObjects: false,
    sortMapEntries: ({ key: a }, { key: b }) =>
      rank(valueOf(a)) - rank(valueOf(b)) || (String(valueOf(a)) < String(valueOf(b)) ? -1 : 1),
  });
}

function valueOf(key: unknown): unknown {
  return typeof key === 'object' && key !== null && 'value' in key ? key.value : key;
}

function parseExact(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source ?? '';
    return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
  };
  return JSON.parse(text, revive) as unknown;
}

export type Token = 'key' | 'text' | 'number' | 'word' | 'mark';

export interface YamlLine {
  readonly number: number;
  readonly indent: number;
  readonly parts: readonly (readonly [token: Token, text: string])[];
  /** The number after the last line that this one folds away; undefined for a line with nothing below it. */
  readonly until: number | undefined;
}

export function yamlLines(yaml: string): readonly YamlLine[] {
  const lines = yaml.replace(/\n$/, '').split('\n');
  const indents = indentsOf(lines);
  /** Above which indentation the text of a block goes on; undefined outside of one. */
  let block: number | undefined;
  return lines.map((line, number) => {
    const indent = indents[number] ?? 0;
    if (block !== undefined && indent <= block) block = undefined;
    const parts: YamlLine['parts'] = block === undefined ? partsOf(line) : [['text', line]];
    if (block === undefined && /(?:^|[:-] )[|>][-+0-9]*$/.test(line)) block = indent;
    return { number, indent, parts, until: foldEnd(indents, number) };
  });
}

/** An empty line belongs to the text around it. */
function indentsOf(lines: readonly string[]): readonly number[] {
  const indents: number[] = [];
  for (const [index, line] of lines.entries()) {
    indents.push(line.trim() === '' ? (indents[index - 1] ?? 0) : line.length - line.trimStart().length);
  }
  return indents;
}

function foldEnd(indents: readonly number[], number: number): number | undefined {
  const own = indents[number] ?? 0;
  const after = indents.findIndex((indent, index) => index > number && indent <= own);
  const end = after === -1 ? indents.length : after;
  return end > number + 1 ? end : undefined;
}

function partsOf(line: string): YamlLine['parts'] {
  const [, lead = '', key = '', rest = line] =
    /^(\s*(?:- )*)((?:"(?:[^"\\]|\\.)*"|[^\s"'#][^:]*?|'[^']*'):(?= |$))?(.*)$/.exec(line) ?? [];
  const parts: [Token, string][] = [];
  if (lead !== '') parts.push(['mark', lead]);
  if (key !== '') parts.push(['key', key]);
  if (rest !== '') parts.push([tokenOf(rest.trim()), rest]);
  return parts;
}

function tokenOf(value: string): Token {
  if (/^-?\d[\d._]*(?:e[+-]?\d+)?$/i.test(value)) return 'number';
  if (/^(true|false|null|~|\{\}|\[\])$/.test(value)) return 'word';
  return /^[|>][-+0-9]*$/.test(value) ? 'mark' : 'text';
}
