// What an Ingester may ask for, as a policy that the API server evaluates itself: made of the same table as the rule of the
// webhook and what the controller judges by. Each claim is a line "<key of the ConfigMap> <path> <value>".
import {
  EVERY_TAINT,
  initiallyPermitted,
  OWN_REPOSITORY,
  PERMITTED_CONFIG_MAP,
  SIZES,
  type Source,
  sources,
  type What,
} from '../../src/api/ingester/permitted.ts';

import { page } from './admission.ts';

interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** What is asked for that was not before and is not permitted, as lists of key, path and value. */
export const ingesterVariables: readonly Variable[] = [
  { name: 'asked', expression: claimsOf('object') },
  { name: 'before', expression: `oldObject == null ? [] : ${claimsOf('oldObject')}` },
  {
    name: 'permitted',
    expression: `{${Object.entries(initiallyPermitted)
      .map(([what, patterns]) => `"${what}": ${patternsOf(what as What, patterns)}`)
      .join(', ')}}`,
  },
  {
    name: 'forbidden',
    expression:
      'variables.asked.filter(c, !(c in variables.before)).map(c, c.split(" ", 3)).filter(c, size(c) < 3 || !(c[0] in variables.permitted) || ' +
      '!variables.permitted[c[0]].exists(p, p.endsWith("*") ? c[2].startsWith(p.substring(0, size(p) - 1)) : c[2] == p))',
  },
];

export const ingesterValidation: Readonly<Record<'expression' | 'messageExpression' | 'reason', string>> = {
  expression: 'size(variables.forbidden) == 0',
  messageExpression:
    'variables.forbidden.map(c, size(c) < 3 ? "spec: a name has a line break" : c[1] + ": " + c[2] + " is not permitted; key " + c[0] + ' +
    `" of ConfigMap ${PERMITTED_CONFIG_MAP} permits " + (size(variables.permitted[c[0]]) == 0 ? "nothing" : variables.permitted[c[0]].join(" "))).join("; ") + "${page('ingester-permitted')}"`,
  reason: 'Forbidden',
};

/** What the controller runs from is not known here, so it judges images alone where the ConfigMap does not say. */
function patternsOf(what: What, patterns: readonly string[]): string {
  const usual = JSON.stringify(what === 'images' ? ['*'] : patterns);
  const words = 't.replace("\\n", " ").replace("\\t", " ").split(" ").filter(p, p != "")';
  return `params.?data[?"${what}"].optMap(t, ${words}).orValue(${usual})`;
}

function claimsOf(object: string): string {
  return sources.map((source) => `(${claimOf(source, `${object}.?spec.?${source.path.join('.?')}`)})`).join(' + ');
}

/** As `readers` in src/api/ingester/permitted.ts has it. */
function claimOf({ what, path, form }: Source, at: string): string {
  const place = `spec.${path.join('.')}`;
  const prefix = `"${what} ${place} "`;
  switch (form) {
    case 'text':
      return `${at}.optMap(v, [${prefix} + string(v)]).orValue([])`;
    case 'texts':
      return `${at}.orValue([]).map(v, ${prefix} + string(v))`;
    case 'words':
      return `${at}.optMap(v, [${prefix} + v.join(" ")]).orValue([])`;
    case 'keys':
      return `${at}.orValue({}).map(k, ${prefix} + k)`;
    case 'image': {
      const tag = 'n.indexOf(":", n.lastIndexOf("/") + 1)';
      return `[${at}.orValue("${OWN_REPOSITORY}").split("@")[0]].map(n, ${prefix} + (${tag} < 0 ? n : n.substring(0, ${tag})))`;
    }
    case 'taints':
      return `${at}.orValue([]).map(t, ${prefix} + (t.?key.orValue("") == "" ? "${EVERY_TAINT}" : string(t.key)))`;
    case 'volumes':
      return joined(
        at,
        `v.filter(k, k != "name").map(k, ${prefix} + k)`,
        `"secret" in v ? ["secrets ${place}.secret.secretName " + string(v.?secret.?secretName.orValue(""))] : []`,
      );
    case 'env': {
      const isSize = `v.?name.orValue("") == "NODE_OPTIONS" && string(v.?value.orValue("")).matches(${JSON.stringify(SIZES)})`;
      const secret = 'v.?valueFrom.?secretKeyRef.?name';
      return joined(
        at,
        `${isSize} ? [] : [${prefix} + string(v.?name.orValue(""))]`,
        `${secret}.optMap(s, ["secrets ${place}.valueFrom.secretKeyRef.name " + string(s)]).orValue([])`,
      );
    }
  }
}

/** Lists of lists cannot be made one in this language, but texts can. */
function joined(at: string, ...lists: readonly string[]): string {
  const all = lists.map((list) => `(${list})`).join(' + ');
  return `${at}.orValue([]).map(v, (${all}).join("\\n")).join("\\n").split("\\n").filter(c, c != "")`;
}
