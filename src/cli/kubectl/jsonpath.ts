// kubectl's JSONPath templates, the common part:
//
//   {.items[*].metadata.name}   {.metadata.annotations.stored\.michelangelo\.api/state}   {.a['b.c'][0]}   {.a[-1]}
//   {range .items[*]}{.metadata.name}{"\n"}{end}                {.items[?(@.spec.algorithm=="xgboost")].metadata.name}
//
// Results of one expression are joined by spaces; a field that is missing gives nothing.
import { isJsonObject } from '../../base/json.ts';
import { ArgumentError } from '../errors.ts';

type Step =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'index'; readonly index: number }
  | { readonly type: 'all' }
  | { readonly type: 'filter'; readonly path: readonly Step[]; readonly operator: string; readonly value: unknown };

type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'path'; readonly path: readonly Step[] }
  | { readonly type: 'range'; readonly path: readonly Step[]; readonly parts: readonly Part[] };

/** A function that fills the template from a document. Throws ArgumentError where the template is not one. */
export function compileJsonPath(template: string): (document: unknown) => string {
  const pieces = [...template.matchAll(/\{((?:"(?:\\.|[^"\\])*"|'[^']*'|[^{}"'])*)\}|([^{}]+)|([{}])/g)];
  const stray = pieces.find(([, , , brace]) => brace !== undefined);
  if (stray !== undefined) throw wrong(template, `"${stray[0]}" at character ${stray.index + 1} stands alone`);
  const rest = pieces.map(([, inside, text]) => ({ inside: inside?.trim(), text }));
  const parts = readParts(rest, template, 'whole');
  return (document) => parts.map((part) => fill(part, document)).join('');
}

/** What a template of one path finds. */
export function valuesAt(template: string): (document: unknown) => readonly unknown[] {
  const inside = /^\{(?<inside>.*)\}$/s.exec(template)?.groups?.['inside'] ?? template;
  const path = readPath(inside, template);
  return (document) => walk([document], path);
}

interface Piece {
  readonly inside: string | undefined;
  readonly text: string | undefined;
}

function readParts(rest: Piece[], template: string, within: 'whole' | 'range'): readonly Part[] {
  const parts: Part[] = [];
  for (let piece = rest.shift(); piece !== undefined; piece = rest.shift()) {
    const { inside, text = '' } = piece;
    if (inside === 'end') {
      if (within === 'range') return parts;
      throw wrong(template, '{end} has no {range}');
    }
    if (inside === undefined) parts.push({ type: 'text', text });
    else if (inside.startsWith('"')) parts.push({ type: 'text', text: unquoted(inside, template) });
    else if (inside.startsWith('range ')) {
      const path = readPath(inside.slice('range '.length), template);
      parts.push({ type: 'range', path, parts: readParts(rest, template, 'range') });
    } else parts.push({ type: 'path', path: readPath(inside, template) });
  }
  if (within === 'range') throw wrong(template, '{range} has no {end}');
  return parts;
}

function unquoted(text: string, template: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw wrong(template, `${text} is no text in quotes`);
  }
}

const STEP =
  /\.?\[\s*(?:'(?<quoted>[^']*)'|"(?<double>[^"]*)"|(?<index>-?\d+)|(?<star>\*)|\?\(\s*@(?<path>[^=!\s]+)\s*(?<operator>==|!=)\s*(?<value>"[^"]*"|'[^']*'|[\w.-]+)\s*\))\s*\]|\.(?<name>(?:\\.|[^.[\]\\])+)/y;

function readPath(text: string, template: string): readonly Step[] {
  const path = text.trim().replace(/^[$@]/, '');
  const steps: Step[] = [];
  if (path === '' || path === '.') return steps;
  const complete = /^[.[]/.test(path) ? path : `.${path}`;
  STEP.lastIndex = 0;
  while (STEP.lastIndex < complete.length) {
    const at = STEP.lastIndex;
    const match = STEP.exec(complete);
    if (match === null) throw wrong(template, `"${complete.slice(at, at + 30)}" is no step of a path`);
    const end = STEP.lastIndex;
    steps.push(stepOf(match.groups ?? {}, template));
    STEP.lastIndex = end;
  }
  return steps;
}

function stepOf(groups: Readonly<Record<string, string | undefined>>, template: string): Step {
  const { quoted, double, index, star, path, operator = '', value = '', name = '' } = groups;
  if (index !== undefined) return { type: 'index', index: Number(index) };
  if (star !== undefined || name === '*') return { type: 'all' };
  if (path !== undefined) return { type: 'filter', path: readPath(path, template), operator, value: literal(value) };
  return { type: 'field', name: quoted ?? double ?? name.replaceAll(/\\(.)/g, '$1') };
}

function literal(text: string): unknown {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (/^(?:true|false|-?\d+(?:\.\d+)?)$/.test(text)) return JSON.parse(text);
  return text;
}

function wrong(template: string, what: string): ArgumentError {
  return new ArgumentError(`The JSONPath template "${template.slice(0, 200)}" is not valid: ${what}`);
}

function fill(part: Part, document: unknown): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'path':
      return walk([document], part.path).map(textOf).join(' ');
    case 'range':
      return walk([document], part.path)
        .map((item) => part.parts.map((inner) => fill(inner, item)).join(''))
        .join('');
  }
}

function walk(found: readonly unknown[], path: readonly Step[]): readonly unknown[] {
  return path.reduce((current: readonly unknown[], step) => current.flatMap((value) => next(value, step)), found);
}

function next(value: unknown, step: Step): readonly unknown[] {
  if (step.type === 'field') return isJsonObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
  if (step.type === 'all' && isJsonObject(value)) return Object.values(value);
  if (!Array.isArray(value)) return [];
  const items: readonly unknown[] = value;
  switch (step.type) {
    case 'all':
      return items;
    case 'index': {
      const item = items.at(step.index);
      return item === undefined ? [] : [item];
    }
    case 'filter':
      return items.filter((item) => {
        const [first] = walk([item], step.path);
        return (first === step.value) === (step.operator === '==');
      });
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
