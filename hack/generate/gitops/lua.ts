// Health checks and actions of Argo CD: Lua 5.1 with nothing but the base library, as Argo CD runs it.
import { RESYNC_ANNOTATION } from '../../../src/api/names.ts';
import { alwaysHealthy, type ConditionRule, conditionRules, type HealthRule, healthRules } from './health.ts';

export interface Action {
  readonly name: string;
  /** Body of the script; gives the changed object back. */
  readonly lua: string;
  /** Lua expression that says when the button is grey. */
  readonly disabled: string;
}

const TRUE = 'CONDITION_STATUS_TRUE';

/** One script for each kind that has a state or conditions. */
export function healthScripts(): ReadonlyMap<string, string> {
  return new Map([
    ...healthRules.map((rule) => [rule.kind, stateScript(rule)] as const),
    ...conditionRules.map((rule) => [rule.kind, conditionScript(rule)] as const),
    ...alwaysHealthy.map((kind) => [kind, 'return { status = "Healthy", message = "" }\n'] as const),
  ]);
}

/** Of an Application in an app of apps: its own health. */
export const applicationHealth = `local status = obj.status
if status == nil or status.health == nil or status.health.status == nil then
  return { status = "Progressing", message = "no health yet" }
end
local synced = status.sync ~= nil and status.sync.status == "Synced"
local before = status.history ~= nil and #status.history > 0
if status.health.status == "Healthy" and not synced and not before then
  return { status = "Progressing", message = "its first sync is not over" }
end
return { status = status.health.status, message = status.health.message or "" }
`;

function stateScript({ field, prefix, states, without }: HealthRule): string {
  const rows = Object.entries(states).map(([name, health]) => `  ["${prefix}${name}"] = "${health}",\n`);
  return `local health = {
${rows.join('')}}
local status = obj.status
if status == nil or status.${field} == nil or status.${field} == "" then
  return { status = "${without}", message = "no ${field} yet" }
end
local seen, wanted = status.observedGeneration, obj.metadata.generation
if type(seen) == "number" and type(wanted) == "number" and seen < wanted then
  return { status = "Progressing", message = "its last change was not seen yet" }
end
local message = status.${field}
local detail = status.message or status.errorMessage
if type(detail) == "string" and detail ~= "" then
  message = message .. ": " .. detail
end
return { status = health[status.${field}] or "Unknown", message = message }
`;
}

function conditionScript({ conditions, without }: ConditionRule): string {
  const rows = conditions.map(({ type, health }) => `  { "${type}", "${health}" },\n`);
  return `local meanings = {
${rows.join('')}}
local holding = {}
if obj.status ~= nil and obj.status.statusConditions ~= nil then
  for _, condition in ipairs(obj.status.statusConditions) do
    if condition.status == "${TRUE}" then
      holding[condition.type] = condition.message or ""
    end
  end
end
for _, meaning in ipairs(meanings) do
  if holding[meaning[1]] ~= nil then
    return { status = meaning[2], message = meaning[1] .. " " .. holding[meaning[1]] }
  end
end
return { status = "${without}", message = "" }
`;
}

const annotate = (key: string, value: string): string => `if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["${key}"] = ${value}
return obj
`;

const resync: Action = {
  name: 'resync',
  // Every change makes the reconciler look again.
  lua: `local os = require("os")\n${annotate(RESYNC_ANNOTATION, 'os.date("!%Y-%m-%dT%H:%M:%SZ")')}`,
  disabled: 'false',
};

/** For the 13 kinds. Argo CD asks its own rights for each by name: applications, action/<group>/<Kind>/<action>. */
export const objectActions: readonly Action[] = [
  resync,
  {
    name: 'archive',
    lua: annotate('michelangelo/Immutable', '"true"'),
    disabled: 'obj.metadata.deletionTimestamp ~= nil',
  },
  {
    name: 'remove-finalizer',
    lua: `local kept = {}
for _, finalizer in ipairs(obj.metadata.finalizers or {}) do
  if finalizer ~= "michelangelo/Ingester" then
    kept[#kept + 1] = finalizer
  end
end
obj.metadata.finalizers = kept
return obj
`,
    disabled: 'obj.metadata.deletionTimestamp == nil',
  },
];

const awaits = 'obj.status == nil or obj.status.phase ~= "AwaitingApproval"';
const token = 'obj.status.lifecycle.upgrade.token';

export const ingesterActions: readonly Action[] = [
  { name: 'approve-upgrade', lua: annotate('michelangelo/approve-upgrade', token), disabled: awaits },
  { name: 'reject-upgrade', lua: annotate('michelangelo/reject-upgrade', token), disabled: awaits },
];

export function discoveryScript(actions: readonly Action[]): string {
  const rows = actions.map(({ name, disabled }) => `actions["${name}"] = { ["disabled"] = ${disabled} }\n`);
  return `local actions = {}\n${rows.join('')}return actions\n`;
}
