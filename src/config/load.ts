import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { CodedError, messageOf } from '../base/errors.ts';
import { type FieldError, formatFieldErrors } from '../base/field-error.ts';
import { isJsonObject, type JsonObject, ownValue, valueAt } from '../base/json.ts';
import { configurationKeys } from './keys.ts';
import { type Configuration, checkConfiguration, type SchemaIssue } from './schema.ts';
import { flag } from './values.ts';

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

/** File first, then environment variables over it, then defaults. */
export function loadConfiguration(source: ConfigurationSource): Configuration {
  const described = source.file ?? 'environment';
  const fromFile = source.file === undefined ? {} : readFile(source.file);
  refuseContradiction(fromFile, source.env, described);
  const merged = withEnvironment(expandVariables(fromFile, source.env, described), source.env);
  const parsed = checkConfiguration(merged);
  if (!parsed.success) throw new ConfigurationError(described, parsed.issues.flatMap(toFieldErrors));
  return withPassword(parsed.data);
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
 * Whether a file switches metadata storage on or off in so many words; undefined where it does not say, leaves it to a
 * variable, or cannot be read.
 */
export function storageIn(file: string): boolean | undefined {
  try {
    return saidOfStorage(readFile(file));
  } catch {
    return undefined;
  }
}

function saidOfStorage(content: JsonObject): boolean | undefined {
  return flag.safeParse(valueAt(content, ['metadataStorage', 'enableMetadataStorage'])).data;
}

/**
 * The webhook follows the reconciler's file. One that says off while the environment of a reconciler says on would leave
 * new objects unguarded, with nobody told.
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
      return [key, expand(nested, path === '' ? key : `${path}.${key}`)] as const;
    });
    return Object.fromEntries(entries);
  };
  const expanded = expand(content, '') as JsonObject;
  if (errors.length > 0) throw new ConfigurationError(source, errors);
  return expanded;
}

function withEnvironment(content: JsonObject, env: ConfigurationSource['env']): JsonObject {
  const merged: JsonObject = { ...content };
  for (const { path, env: name } of configurationKeys()) {
    const value = name === undefined ? undefined : env[name];
    const [section, key] = path.split('.');
    if (value === undefined || section === undefined || key === undefined) continue;
    const existing = merged[section];
    merged[section] = { ...(isJsonObject(existing) ? existing : {}), [key]: value };
  }
  return merged;
}

function toFieldErrors(issue: SchemaIssue): readonly FieldError[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return (issue.keys ?? []).map((key) => ({ path: path === '' ? key : `${path}.${key}`, message: 'unknown key' }));
  }
  if (issue.code === 'invalid_key') return (issue.issues ?? []).map(({ message }) => ({ path, message }));
  return [{ path, message: issue.message }];
}

export function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? '';
}

function withPassword(configuration: Configuration): Configuration {
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
