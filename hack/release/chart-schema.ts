// The schema of the values, by which Helm refuses one that is misspelt or of another type before it renders anything.
import * as z from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { taskSchema } from '../../src/config/schema.ts';
import { places } from './chart-values.ts';
import { DIGEST, REPOSITORY, TAG } from './image.ts';

const REPLICAS: JsonObject = { type: 'integer', minimum: 0 };
const RESOURCES = closed(['limits', 'requests', 'claims'].map((key) => [key, {}]));

/** Of which more can be said than the type of their default. */
const schemas: Readonly<Record<string, JsonObject>> = {
  'image.repository': { type: 'string', pattern: `^${REPOSITORY}$` },
  'image.tag': { type: 'string', pattern: `^(${TAG})?$` },
  'image.digest': { type: 'string', pattern: `^(${DIGEST})?$` },
  'webhook.replicas': REPLICAS,
  'webhook.resources': RESOURCES,
  'webhook.failurePolicy': { enum: ['Fail', 'Ignore'] },
  'reconciler.replicas': REPLICAS,
  'reconciler.resources': RESOURCES,
  'reconciler.config': keysOf(z.toJSONSchema(taskSchema, { io: 'input', target: 'draft-7', unrepresentable: 'any' })),
  'query.replicas': REPLICAS,
  'query.resources': RESOURCES,
  // PEM, which is turned into base64 where it goes.
  'query.caBundle': { type: 'string', pattern: '^$|-----BEGIN CERTIFICATE-----' },
};

/** Sections and keys are known; what is below a key of the user's own form is not. */
export function schemaOf(values: JsonObject): JsonObject {
  const free = places.filter(({ form, empty }) => form !== undefined || empty !== undefined).map(({ value }) => value);
  const keyOf = (name: string, value: JsonValue): JsonObject => schemas[name] ?? typeOf(value, free.includes(name));
  const section = (name: string, keys: JsonObject): JsonObject =>
    closed(Object.entries(keys).map(([key, value = null]) => [key, keyOf(`${name}.${key}`, value)]));
  const sections = Object.entries(values).map(([name, keys = null]): [string, JsonObject] => [
    name,
    isJsonObject(keys) ? section(name, keys) : typeOf(keys, false),
  ]);
  // Helm's own, for charts that this one is a part of.
  const all = closed([...sections, ['global', { type: 'object' }]]);
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...all };
}

function closed(properties: readonly (readonly [string, JsonObject])[]): JsonObject {
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
}

function typeOf(value: JsonValue, free: boolean): JsonObject {
  if (Array.isArray(value)) return { type: 'array', items: { type: 'object' } };
  if (isJsonObject(value)) return free ? { type: 'object' } : closed(Object.keys(value).map((key) => [key, {}]));
  return { type: typeof value === 'number' ? 'integer' : typeof value };
}

/** The keys, and those of lists of maps. Values are for the program to judge: any may be a variable, `${NAME}`. */
function keysOf(schema: unknown): JsonObject {
  const { properties, items } = isJsonObject(schema) ? schema : {};
  if (isJsonObject(properties)) return closed(Object.entries(properties).map(([key, each]) => [key, keysOf(each)]));
  return items === undefined ? {} : { type: 'array', items: keysOf(items) };
}
