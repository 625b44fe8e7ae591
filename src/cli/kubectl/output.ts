// How results are printed: tables for users, documents for programs.
import { InvalidArgumentError, Option } from 'commander';
import { stringify } from 'yaml';
import { isJsonObject, type JsonObject, valueAt } from '../../base/json.ts';
import { isRawNumber } from '../../base/lossless-json.ts';
import { terminalLine } from '../../base/terminal-text.ts';
import { customColumns } from './columns.ts';
import { compileJsonPath } from './jsonpath.ts';

export type Format = 'table' | 'wide' | 'json' | 'yaml' | 'name' | `jsonpath=${string}` | `custom-columns=${string}`;
/** For programs. */
export type DocumentFormat = Exclude<Format, 'table' | 'wide' | `custom-columns=${string}`>;

const plain = ['table', 'wide', 'json', 'yaml', 'name'];

export function formatOption(): Option {
  return new Option(
    '-o, --output <format>',
    'table, wide, json, yaml, name, jsonpath=<template> or custom-columns=<head>:<path>,…',
  )
    .default('table')
    .argParser((text) => {
      if (plain.includes(text)) return text;
      if (text.startsWith('custom-columns=')) {
        customColumns(text.slice('custom-columns='.length));
        return text;
      }
      if (!text.startsWith('jsonpath='))
        throw new InvalidArgumentError(`It is one of ${plain.join(', ')}, jsonpath= or custom-columns=`);
      compileJsonPath(text.slice('jsonpath='.length));
      return text;
    });
}

/** The text of a document in a form for programs. `group` is what names begin with: model.stored.michelangelo.api. */
export function printDocument(document: JsonObject, format: DocumentFormat): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(inOrder(document), undefined, 4)}\n`;
    case 'yaml':
      return stringify(plainNumbers(inOrder(document)), { lineWidth: 0, indentSeq: false });
    case 'name':
      return namesOf(document);
    default:
      return compileJsonPath(format.slice('jsonpath='.length))(document);
  }
}

/** As kubectl prints objects: keys by the alphabet, at every level. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (isRawNumber(value) || !isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, inOrder(value[key])]));
}

/** YAML knows integers of any length. */
function plainNumbers(value: unknown): unknown {
  if (isRawNumber(value)) return /^-?\d+$/.test(value.rawJSON) ? BigInt(value.rawJSON) : Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(plainNumbers);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainNumbers(item)]));
}

export function itemsOf(document: JsonObject): readonly JsonObject[] {
  const { items } = document;
  return Array.isArray(items) ? items.filter(isJsonObject) : [document];
}

function namesOf(document: JsonObject): string {
  const lines = itemsOf(document).map((item) => {
    return `${cellText(item['kind']).toLowerCase()}.stored.michelangelo.api/${cellText(valueAt(item, ['metadata', 'name']))}\n`;
  });
  return lines.join('');
}

const colours = { etcd: 32, MySQL: 33, deleted: 31 } as const;

/** Whether a stream shows colours: a terminal, unless the environment says otherwise. */
export function showsColours(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

/** Rows of text in columns, each as wide as its widest cell, and nothing in it that a terminal would obey. `WHERE` is coloured where that is wanted. */
export function textTable(cells: readonly (readonly string[])[], coloured: 'coloured' | 'plain'): string {
  const rows = cells.map((row) => row.map(terminalLine));
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const where = head.indexOf('WHERE');
  const lines = rows.map((row, index) =>
    row
      .map((cell, column) => {
        const padded = column === row.length - 1 ? cell : cell.padEnd((widths[column] ?? 0) + 3);
        return coloured === 'coloured' && column === where && index > 0 ? inColour(padded) : padded;
      })
      .join('')
      .trimEnd(),
  );
  return lines.map((line) => `${line}\n`).join('');
}

function inColour(text: string): string {
  const word = text.split(' ')[0] as keyof typeof colours;
  return Object.hasOwn(colours, word) ? `\u001B[${colours[word]}m${text}\u001B[0m` : text;
}

export interface TableOptions {
  readonly wide: boolean;
  readonly namespaces: boolean;
  /** A column with them. */
  readonly labels?: boolean;
  /** Before each name. */
  readonly prefix?: string;
}

function labelsText(row: JsonObject): string {
  const labels = valueAt(row, ['object', 'metadata', 'labels']);
  const pairs = isJsonObject(labels) ? Object.entries(labels) : [];
  if (pairs.length === 0) return '<none>';
  return pairs
    .map(([key, value]) => `${key}=${cellText(value)}`)
    .sort()
    .join(',');
}

/** Head and rows of a Table that the server made. */
export function tableRows(
  table: JsonObject,
  { wide, namespaces, labels = false, prefix = '' }: TableOptions,
): { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] } {
  const definitions = Array.isArray(table['columnDefinitions']) ? table['columnDefinitions'].filter(isJsonObject) : [];
  const rows = Array.isArray(table['rows']) ? table['rows'].filter(isJsonObject) : [];
  const shown = definitions.flatMap((definition, index) =>
    wide || definition['priority'] === 0 ? [{ title: cellText(definition['name']).toUpperCase(), index }] : [],
  );
  return {
    head: [...(namespaces ? ['NAMESPACE'] : []), ...shown.map(({ title }) => title), ...(labels ? ['LABELS'] : [])],
    rows: rows.map((row) => {
      const cells = Array.isArray(row['cells']) ? row['cells'] : [];
      const namespace = cellText(valueAt(row, ['object', 'metadata', 'namespace']));
      const text = shown.map(({ title, index }) => `${title === 'NAME' ? prefix : ''}${cellText(cells[index])}`);
      return [...(namespaces ? [namespace] : []), ...text, ...(labels ? [labelsText(row)] : [])];
    }),
  };
}

/** A value as text for a user. */
export function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  return typeof cell === 'string' ? cell : JSON.stringify(cell);
}

export function isDocumentFormat(format: Format): format is DocumentFormat {
  return format !== 'table' && format !== 'wide' && !format.startsWith('custom-columns=');
}

/** A table of the columns of the user's choice. */
export function chosenText(
  items: readonly JsonObject[],
  format: Format,
  heads: 'heads' | 'no-heads' = 'heads',
): string {
  const columns = customColumns(format.slice('custom-columns='.length));
  const rows = items.map((item) => columns.map(({ cell }) => cell(item)));
  return withHeads(textTable([columns.map(({ head }) => head), ...rows], 'plain'), heads);
}

/** A table without its first line. */
export function withHeads(text: string, heads: 'heads' | 'no-heads'): string {
  return heads === 'heads' ? text : text.slice(text.indexOf('\n') + 1);
}
