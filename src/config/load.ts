import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import { CodedError, type FieldError, formatFieldErrors, messageOf } from '../base/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, ownValue, valueAt } from '../base/json.ts';
import { nearest } from '../base/nearest.ts';
import { type Configuration, schema, type TaskConfiguration, taskSchema } from './schema.ts';
import { taskSections } from './task-settings.ts';
import { defaultKindNames, flag, kindList, type section } from './values.ts';

/**
 * Top-level sections of the original that say nothing about the ingester; nothing in them is looked at. Its configuration
 * file is read as it is: its API server, its controllers and its ingester share one.
 */
const originalSections: ReadonlySet<string> = new Set([
  ...['apiserver', 'controllermgr', 'controllers', 'crdCheck', 'inferenceServer', 'jobs', 'k8s', 'minio'],
  ...['notification', 'pipeline', 'pipelineRun', 'worker', 'workflowClient'],
]);

/** Keys of the original in sections that have its name and ours; the webhook of the original converts versions. */
const originalKeys: Readonly<Record<string, readonly string[]>> = {
  metadataStorage: ['deletionDelay', 'enableResourceVersionCache'],
  webhook: ['certDir', 'host', 'port', 'url'],
};

/** Everything that is wrong with the configuration, all at once, each with its path. */
export class ConfigurationError extends CodedError {
  readonly errors: readonly FieldError[];

  constructor(source: string, errors: readonly FieldError[]) {
    super('CONFIGURATION_INVALID', `The configuration (${source}) is not valid:\n${formatFieldErrors(errors)}`);
    this.errors = errors;
  }
}

export interface ConfigurationSource {
  /** Path of a YAML file; undefined reads the environment alone. */
  readonly file: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** File first, then environment variables over it, then defaults. Sections of tasks are left to them. */
export function loadConfiguration(source: ConfigurationSource): Configuration {
  return load(schema, source);
}

export function loadTaskConfiguration(source: ConfigurationSource): TaskConfiguration {
  return load(taskSchema, source);
}

/** Of sections that any user wrote: larger ones are not looked at, and so many problems are told. */
const MOST_BYTES = 64 * 1024;
const MOST_PROBLEMS = 10;

/** What this version would refuse in some sections of a file, without the rest of it. */
export function problemsIn(sections: JsonObject): readonly FieldError[] {
  if (JSON.stringify(sections).length > MOST_BYTES) return [];
  const { success, error } = taskSchema.safeParse(ownPart(sections, taskSchema.shape));
  if (success) return [];
  const problems: FieldError[] = [];
  for (const issue of error.issues) {
    if (problems.length >= MOST_PROBLEMS) break;
    const few = issue.code === 'unrecognized_keys' ? { ...issue, keys: issue.keys.slice(0, MOST_PROBLEMS) } : issue;
    // What is missing is set by other fields of the resource, or by the environment of its pods.
    problems.push(
      ...toFieldErrors(few).filter(({ path }) => valueAt(sections, path.split('.').slice(0, 2)) !== undefined),
    );
  }
  return problems.slice(0, MOST_PROBLEMS);
}

type Schema<T> = z.ZodType<T> & { readonly shape: Shape };
type Shape = Readonly<Record<string, ReturnType<typeof section>>>;

function load<T extends Configuration>(type: Schema<T>, source: ConfigurationSource): T {
  return withPassword(parsed(type, merged(type.shape, source), nameOf(source)));
}

function parsed<T>(type: z.ZodType<T>, settings: JsonObject, source: string): T {
  const { success, data, error } = type.safeParse(settings);
  if (success) return data;
  throw new ConfigurationError(source, error.issues.flatMap(toFieldErrors));
}

/** What a valid file and environment set, as it is written there, without defaults; passwords are masked, no other file is read. */
export function settingsOf(source: ConfigurationSource): JsonObject {
  const settings = merged(taskSchema.shape, source);
  parsed(taskSchema, settings, nameOf(source));
  return Object.fromEntries(
    Object.entries(settings).map(([name, keys]) => [name, isJsonObject(keys) ? withoutSecrets(keys) : keys]),
  );
}

function withoutSecrets(section: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(section).map(([key, value]) => [key, /password$/i.test(key) && value !== '' ? '***' : value]),
  );
}

function nameOf({ file }: ConfigurationSource): string {
  return file ?? 'environment';
}

function merged(sections: Shape, source: ConfigurationSource): JsonObject {
  const { file, env } = source;
  const fromFile = file === undefined ? {} : ownPart(readFile(file), sections);
  refuseContradiction(fromFile, env, nameOf(source));
  return withEnvironment(expandVariables(fromFile, env, nameOf(source)), env, sections);
}

/** Without what is the original's and, where no task reads them, without the sections of tasks. */
function ownPart(content: JsonObject, sections: Shape): JsonObject {
  const own = Object.entries(content).filter(
    ([name]) => name in sections || !(name in taskSections || originalSections.has(name)),
  );
  return Object.fromEntries(own.map(([name, keys]) => [name, withoutKeys(keys, ownValue(originalKeys, name) ?? [])]));
}

function withoutKeys(section: JsonValue | undefined, names: readonly string[]): JsonValue | undefined {
  if (!isJsonObject(section)) return section;
  return Object.fromEntries(Object.entries(section).filter(([key]) => !names.includes(key)));
}

function readFile(path: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationError(path, [{ path: '', message: `cannot read the file: ${messageOf(error)}` }]);
  }
  const document = parseDocument(text, { uniqueKeys: true });
  if (document.errors.length > 0) {
    const errors = document.errors.map((error) => ({ path: '', message: error.message }));
    throw new ConfigurationError(path, errors);
  }
  const content: unknown = document.toJS() ?? {};
  if (!isJsonObject(content)) {
    throw new ConfigurationError(path, [{ path: '', message: 'expected a map of sections at the top level' }]);
  }
  return content;
}

const STORAGE_VARIABLE = 'INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE';

/**
 * The kinds that the reconciler of a file ingests; undefined where the file says nothing of it, leaves it to a variable, or
 * cannot be read.
 */
export function ingestedIn(file: string): readonly string[] | undefined {
  try {
    const content = readFile(file);
    const storage = saidOfStorage(content);
    if (storage === false) return [];
    const kinds = valueAt(content, ['ingester', 'kinds']);
    if (kinds === undefined) return storage === true ? defaultKindNames : undefined;
    return kindList.safeParse(kinds).data;
  } catch {
    return undefined;
  }
}

function saidOfStorage(content: JsonObject): boolean | undefined {
  return flag.safeParse(valueAt(content, ['metadataStorage', 'enableMetadataStorage'])).data;
}

/**
 * The webhook follows the reconciler's file. A file that says off while the environment of a reconciler says on would
 * silently leave new objects unguarded.
 */
function refuseContradiction(fromFile: JsonObject, env: ConfigurationSource['env'], source: string): void {
  if (saidOfStorage(fromFile) !== false || flag.safeParse(env[STORAGE_VARIABLE]).data !== true) return;
  const message = `the file says false and ${STORAGE_VARIABLE} true, and the webhook follows the file; set it there`;
  throw new ConfigurationError(source, [{ path: 'metadataStorage.enableMetadataStorage', message }]);
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}/g;

/** Replaces `${NAME}` and `${NAME:default}` in text values, as the original's configuration files allow. */
function expandVariables(content: JsonObject, env: ConfigurationSource['env'], source: string): JsonObject {
  const errors: FieldError[] = [];
  const expand = (value: unknown, path: string): unknown => {
    if (typeof value === 'string') {
      return value.replace(VARIABLE, (_whole, name: string, fallback: string | undefined) => {
        const found = ownValue(env, name) ?? fallback;
        if (found === undefined) errors.push({ path, message: `environment variable ${name} is not set` });
        return found ?? '';
      });
    }
    if (Array.isArray(value)) return value.map((item, index) => expand(item, `${path}[${index}]`));
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).map(([key, nested]) => {
      return [key, expand(nested, inside(path, key))] as const;
    });
    return Object.fromEntries(entries);
  };
  const expanded = expand(content, '') as JsonObject;
  if (errors.length > 0) throw new ConfigurationError(source, errors);
  return expanded;
}

function withEnvironment(content: JsonObject, env: ConfigurationSource['env'], sections: Shape): JsonObject {
  const result: JsonObject = { ...content };
  for (const { path, env: name } of keysOf(sections)) {
    const value = name === undefined ? undefined : env[name];
    const [section, key] = path.split('.');
    if (value === undefined || section === undefined || key === undefined) continue;
    const existing = result[section];
    result[section] = { ...(isJsonObject(existing) ? existing : {}), [key]: value };
  }
  return result;
}

function toFieldErrors(issue: z.core.$ZodIssue): readonly FieldError[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(inside(path, key)));
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ path, message }));
  return [{ path, message: issue.message }];
}

/** Of a path that is compared with the known ones, all of which are shorter. */
const LONGEST_KEY = 80;

function unknownKey(path: string): FieldError {
  const near = nearest(path.replace(/\.\d+(?=\.)/g, '').slice(0, LONGEST_KEY), knownPaths(taskSchema));
  return { path, message: `unknown key; the nearest known key is ${near}` };
}

/** Sections, keys, and the keys of lists of maps. */
function knownPaths(type: unknown, path = ''): readonly string[] {
  if (type instanceof z.ZodPrefault || type instanceof z.ZodDefault) return knownPaths(type.def.innerType, path);
  if (type instanceof z.ZodArray) return knownPaths(type.element, path);
  if (!(type instanceof z.ZodObject)) return [];
  return Object.entries(type.shape).flatMap(([key, each]) => {
    const below = inside(path, key);
    return [below, ...knownPaths(each, below)];
  });
}

function inside(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

export function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? '';
}

function withPassword<T extends Configuration>(configuration: T): T {
  const { passwordFile } = configuration.mysql;
  if (passwordFile === '') return configuration;
  try {
    const password = firstLine(readFileSync(passwordFile, 'utf8'));
    return { ...configuration, mysql: { ...configuration.mysql, password } };
  } catch (error) {
    const message = `cannot read the password: ${messageOf(error)}`;
    throw new ConfigurationError(passwordFile, [{ path: 'mysql.passwordFile', message }]);
  }
}

export interface ConfigurationKey {
  /** Dotted path in the file, e.g. `mysql.host`. */
  readonly path: string;
  /** Environment variable that overrides it; undefined for lists and maps. */
  readonly env: string | undefined;
  /** As written in a file. */
  readonly defaultValue: unknown;
  readonly help: string;
}

/** @public For the page on the configuration, which is generated. */
export const configurationKeys: readonly ConfigurationKey[] = keysOf(schema.shape);
/** @public For the same page. */
export const taskKeys: readonly ConfigurationKey[] = keysOf(taskSections);

/** Every supported key, in the order of the schema. */
function keysOf(sections: Shape): readonly ConfigurationKey[] {
  return Object.entries(sections).flatMap(([section, { def }]) =>
    Object.entries(def.innerType.shape).flatMap(([key, field]) => describeKey(`${section}.${key}`, field)),
  );
}

function describeKey(path: string, field: unknown): readonly ConfigurationKey[] {
  if (!(field instanceof z.ZodType) || field.description === undefined) return [];
  const defaultValue = defaultOf(field);
  const env = typeof defaultValue === 'object' ? undefined : environmentName(path);
  return [{ path, env, defaultValue, help: field.description }];
}

/** `mysql.maxOpenConns` → `INGESTER_MYSQL_MAX_OPEN_CONNS`. */
function environmentName(path: string): string {
  return `INGESTER_${path
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toUpperCase()}`;
}

function defaultOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return schema.def.defaultValue;
  return undefined;
}
