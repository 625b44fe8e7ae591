import * as z from 'zod';
import { schemaSections } from './schema.ts';

export interface ConfigurationKey {
  /** Dotted path in the file, e.g. `mysql.host`. */
  readonly path: string;
  /** Environment variable that overrides it; undefined for lists and maps. */
  readonly env: string | undefined;
  /** As written in a file. */
  readonly defaultValue: unknown;
  readonly help: string;
}

/** Every supported key, in the order of the schema. */
export function configurationKeys(): readonly ConfigurationKey[] {
  return Object.entries(schemaSections()).flatMap(([section, schema]) =>
    Object.entries(objectInside(schema).shape).flatMap(([key, field]) => describeKey(`${section}.${key}`, field)),
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

function objectInside(schema: z.core.$ZodType): z.ZodObject {
  if (schema instanceof z.ZodObject) return schema;
  return objectInside((schema as z.ZodPrefault).def.innerType);
}

function defaultOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return schema.def.defaultValue;
  return undefined;
}
