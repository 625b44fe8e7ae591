import { ownValue } from '../base/json.ts';
import { SelectorError } from './errors.ts';

type Labels = Readonly<Record<string, string>>;
type Requirement = (labels: Labels) => boolean;

const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const KEY = `(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME}`;
const value = new RegExp(`^(?:${NAME})?$`);

const exists = new RegExp(`^(?<not>!?)\\s*(?<key>${KEY})$`);
const compares = new RegExp(`^(?<key>${KEY})\\s*(?<operator>==|!=|=|>|<)\\s*(?<operand>[^\\s,()=!<>]*)$`);
const inSet = new RegExp(`^(?<key>${KEY})\\s+(?<operator>in|notin)\\s*\\((?<values>[^()]*)\\)$`);

/**
 * Reads a label selector in its whole syntax: `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a>1`,
 * `a<1`, joined by commas that all must hold. The empty selector matches everything. As in Kubernetes, `!=` and `notin`
 * match where the label is absent.
 */
export function parseLabelSelector(selector: string): (labels: Labels) => boolean {
  if (selector.trim() === '') return () => true;
  const requirements = splitOutsideParentheses(selector).map((part) => parseRequirement(part.trim(), selector));
  return (labels) => requirements.every((holds) => holds(labels));
}

function splitOutsideParentheses(selector: string): readonly string[] {
  return selector.split(/,(?![^(]*\))/);
}

function parseRequirement(text: string, selector: string): Requirement {
  const requirement = parseSet(text, selector) ?? parseComparison(text, selector) ?? parseExistence(text);
  if (requirement === undefined) throw new SelectorError(selector, `"${text}" is not understood`);
  return requirement;
}

function parseExistence(text: string): Requirement | undefined {
  const groups = exists.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { key = '', not } = groups;
  return not === '!' ? (labels) => !Object.hasOwn(labels, key) : (labels) => Object.hasOwn(labels, key);
}

function parseSet(text: string, selector: string): Requirement | undefined {
  const groups = inSet.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { key = '', operator, values = '' } = groups;
  const wanted = new Set(values.split(',').map((member) => validValue(member.trim(), selector)));
  return operator === 'in' ? (labels) => isOneOf(labels, key, wanted) : (labels) => !isOneOf(labels, key, wanted);
}

function parseComparison(text: string, selector: string): Requirement | undefined {
  const groups = compares.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { key = '', operator, operand = '' } = groups;
  switch (operator) {
    case '>':
    case '<': {
      if (!/^-?\d+$/.test(operand)) throw new SelectorError(selector, `"${operand}" is no integer`);
      const sign = operator === '>' ? 1n : -1n;
      return (labels) => isBeyond(ownValue(labels, key), BigInt(operand), sign);
    }
    case '!=': {
      const wanted = new Set([validValue(operand, selector)]);
      return (labels) => !isOneOf(labels, key, wanted);
    }
    default: {
      const wanted = new Set([validValue(operand, selector)]);
      return (labels) => isOneOf(labels, key, wanted);
    }
  }
}

function isOneOf(labels: Labels, key: string, wanted: ReadonlySet<string>): boolean {
  const label = ownValue(labels, key);
  return label !== undefined && wanted.has(label);
}

/** An absent label and one that is no integer are beyond nothing. */
function isBeyond(label: string | undefined, limit: bigint, sign: bigint): boolean {
  return label !== undefined && /^-?\d+$/.test(label) && (BigInt(label) - limit) * sign > 0n;
}

function validValue(text: string, selector: string): string {
  if (!value.test(text)) throw new SelectorError(selector, `"${text}" cannot be the value of a label`);
  return text;
}
