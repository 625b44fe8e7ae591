// Label and field selectors of Kubernetes, in their text form.
//
//   labels   team=a   team==a   team!=a   team in (a,b)   team notin (a,b)   team   !team      joined by commas
//   fields   metadata.name=a   spec.tier!=1   (backslash before , = and itself)                joined by commas
import { SelectorInvalidError } from './errors.ts';
import type { FieldCondition, LabelRequirement } from './list-query.ts';

interface Token {
  readonly text: string;
  /** Characters before it. */
  readonly at: number;
}

/** Of one selector. A longer one is not written by hand, and every requirement is work for the database. */
const MOST_REQUIREMENTS = 64;
const MOST_VALUES = 1024;

/** All that must hold. The empty selector is the empty list. Throws SelectorInvalidError with the place. */
export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  return parseRequirements(text, 'label');
}

/** The same of annotations, whose values are any text: what is no word stands in quotes, as a string of JSON. */
export function parseAnnotationSelector(text: string): readonly LabelRequirement[] {
  return parseRequirements(text, 'annotation');
}

function parseRequirements(text: string, of: 'label' | 'annotation'): readonly LabelRequirement[] {
  const reader = new TokenReader(text, of);
  const requirements: LabelRequirement[] = [];
  if (reader.peek() === undefined) return requirements;
  let values = 0;
  do {
    const requirement = readRequirement(reader);
    values += 'values' in requirement ? requirement.values.length : 0;
    requirements.push(requirement);
    if (requirements.length > MOST_REQUIREMENTS) throw reader.problem(`more than ${MOST_REQUIREMENTS} requirements`);
    if (values > MOST_VALUES) throw reader.problem(`more than ${MOST_VALUES} values`);
  } while (reader.take(','));
  const rest = reader.peek();
  if (rest !== undefined) throw reader.problem(`expected "," before "${rest.text}"`);
  return withoutRepeats(requirements);
}

/** What is asked twice is asked once. */
function withoutRepeats<T>(parts: readonly T[]): readonly T[] {
  return [...new Map(parts.map((part) => [JSON.stringify(part), part])).values()];
}

function readRequirement(reader: TokenReader): LabelRequirement {
  if (reader.take('!')) return { key: readKey(reader), operator: 'notExists' };
  const key = readKey(reader);
  if (reader.take('=') || reader.take('==')) return { key, operator: 'in', values: [readValue(reader)] };
  if (reader.take('!=')) return { key, operator: 'notIn', values: [readValue(reader)] };
  if (reader.take('in')) return { key, operator: 'in', values: readSet(reader) };
  if (reader.take('notin')) return { key, operator: 'notIn', values: readSet(reader) };
  if (reader.peek()?.text === '>' || reader.peek()?.text === '<') {
    throw reader.problem(`${reader.of}s are compared as text, so > and < are not supported`);
  }
  return { key, operator: 'exists' };
}

const named = { label: 'a label', annotation: 'an annotation' } as const;

function readKey(reader: TokenReader): string {
  const key = reader.word(`${named[reader.of]} key`);
  if (isLabelKey(reader.of === 'label' ? key : key.toLowerCase())) return key;
  throw reader.problem(`"${key}" is not ${named[reader.of]} key, such as team or example.com/team`);
}

/** Nothing at all is the empty value. */
function readValue(reader: TokenReader): string {
  const next = reader.peek();
  if (next === undefined || [',', ')'].includes(next.text)) return '';
  const value = reader.word(`${named[reader.of]} value`);
  if (reader.of === 'annotation') return value.startsWith('"') ? unquoted(reader, value) : value;
  if (isLabelValue(value)) return value;
  throw reader.problem(`"${value}" is not a label value: at most 63 letters, digits, "-", "_" and "."`);
}

function unquoted(reader: TokenReader, text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    // What the parser says of it is of its own places.
    throw reader.problem(`${text.slice(0, 100)} is not a text in quotes, as JSON has it`);
  }
}

function readSet(reader: TokenReader): readonly string[] {
  if (!reader.take('(')) throw reader.problem('expected "(" and a list of values');
  if (reader.peek()?.text === ')') throw reader.problem('the list of values is empty');
  const values: string[] = [];
  do {
    values.push(readValue(reader));
  } while (reader.take(','));
  if (!reader.take(')')) throw reader.problem('expected "," or ")"');
  return [...new Set(values)];
}

/** Words, and the signs between them. */
const tokens = {
  label: /==|!=|[=!(),<>]|[^\s=!(),<>]+/g,
  annotation: /==|!=|[=!(),<>]|"(?:[^"\\]|\\.)*"|[^\s=!(),<>]+/gs,
} as const;

class TokenReader {
  readonly of: 'label' | 'annotation';
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string, of: 'label' | 'annotation') {
    this.of = of;
    this.#text = text;
    this.#tokens = [...text.matchAll(tokens[of])].map((match) => ({
      text: match[0],
      at: match.index,
    }));
  }

  peek(): Token | undefined {
    return this.#tokens[this.#next];
  }

  take(text: string): boolean {
    if (this.peek()?.text !== text) return false;
    this.#next += 1;
    return true;
  }

  word(what: string): string {
    const token = this.peek();
    if (token === undefined || /^[=!(),<>]/.test(token.text)) throw this.problem(`expected ${what}`);
    this.#next += 1;
    return token.text;
  }

  /** At the next token, or at the end. */
  problem(what: string): SelectorInvalidError {
    return new SelectorInvalidError(this.of, what, this.peek()?.at ?? this.#text.length);
  }
}

/** All that must hold. Which fields there are is asked later, of the kind. Throws SelectorInvalidError with the place. */
export function parseFieldSelector(text: string): readonly FieldCondition[] {
  if (text.trim() === '') return [];
  const conditions = fieldTerms(text).map(({ text: term, at }): FieldCondition => {
    const match = /^\s*(?<field>[^=!\s\\]+)\s*(?<operator>!=|==|=)(?<value>.*)$/s.exec(term);
    const { field, operator, value = '' } = match?.groups ?? {};
    if (field === undefined)
      throw new SelectorInvalidError('field', `"${term}" is not field=value or field!=value`, at);
    return {
      field,
      operator: operator === '!=' ? '!=' : '=',
      value: unescaped(value, at + term.length - value.length),
    };
  });
  return withoutRepeats(conditions);
}

/** Between commas that have no backslash before them. */
function fieldTerms(text: string): readonly Token[] {
  const terms: Token[] = [];
  for (const match of text.matchAll(/(?<term>(?:\\.|[^\\,])*\\?)(?<end>,|$)/gs)) {
    terms.push({ text: match.groups?.['term'] ?? '', at: match.index });
    if (terms.length > MOST_REQUIREMENTS) {
      throw new SelectorInvalidError('field', `more than ${MOST_REQUIREMENTS} requirements`, match.index);
    }
    if (match.groups?.['end'] === '') break;
  }
  return terms;
}

function unescaped(value: string, at: number): string {
  const wrong = /(?<!\\)(?:\\\\)*(?:\\(?![\\,=])|=)/.exec(value.replaceAll(/\\[\\,=]/g, '__'));
  if (wrong !== null) {
    throw new SelectorInvalidError(
      'field',
      'a backslash stands before "\\", "," and "=" in a value, and only there',
      at,
    );
  }
  return value.replaceAll(/\\([\\,=])/g, '$1');
}

// Keys and values of labels and annotations, by the rules of the API server (apimachinery's validation).

const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const qualifiedName = new RegExp(`^(?:(?<prefix>${LABEL}(?:\\.${LABEL})*)/)?${NAME}$`);
const labelValue = new RegExp(`^(?:${NAME})?$`);
const LONGEST_PREFIX = 253;
/** Bytes of all annotations of an object together. The API server bounds labels by the size of a request only. */
const MAP_BYTES = 256 * 1024;

/** The prefix may have capitals in annotations: the API server lowers them before it looks. */
export function isLabelKey(text: string): boolean {
  const match = qualifiedName.exec(text);
  return match !== null && (match.groups?.['prefix']?.length ?? 0) <= LONGEST_PREFIX;
}

function isLabelValue(text: string): boolean {
  return labelValue.test(text);
}

interface Maps {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Everything that the API server would refuse. Values are not repeated: they may be large, or secret. */
export function metadataProblems({ labels = {}, annotations = {} }: Maps): readonly string[] {
  const shown = (key: string): string => JSON.stringify(key.slice(0, 100));
  return [
    ...Object.keys(labels)
      .filter((key) => !isLabelKey(key))
      .map((key) => `${shown(key)} cannot be the key of a label`),
    ...Object.entries(labels)
      .filter(([, value]) => !isLabelValue(value))
      .map(([key]) => `the value of label ${shown(key)} is no label value`),
    ...Object.keys(annotations)
      .filter((key) => !isLabelKey(key.toLowerCase()))
      .map((key) => `${shown(key)} cannot be the key of an annotation`),
    ...tooLarge('labels', labels),
    ...tooLarge('annotations', annotations),
  ];
}

function tooLarge(what: string, map: Readonly<Record<string, string>>): readonly string[] {
  let bytes = 0;
  for (const [key, value] of Object.entries(map)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes > MAP_BYTES ? [`the ${what} have ${bytes} bytes, more than ${MAP_BYTES}`] : [];
}
