// The kinds of values that configuration keys have.

import * as z from 'zod';
import { parseDurationMs } from '../base/duration.ts';
import type { Address } from '../base/https-server.ts';
import { allKinds, defaultKinds, findKind } from '../kinds/kinds.ts';

const kindNames = allKinds.map((kind) => kind.kind).join(', ');

/** A section of the file. Unknown keys in it are refused; where it is missing, its keys have their defaults. */
export function section<Shape extends z.core.$ZodShape>(
  shape: Shape,
): z.ZodPrefault<z.ZodObject<Shape, z.core.$strict>> {
  const keys = z.strictObject(shape, { error: 'expected a map of keys' });
  return keys.prefault({} as z.input<typeof keys>);
}

/** Environment variables and YAML quote freely, so scalars are accepted as text too. */
export const flag: z.ZodType<boolean> = z.union(
  [z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')],
  {
    error: 'expected true or false',
  },
);

export function integer(minimum: number, maximum: number): z.ZodType<number> {
  const message = `expected a whole number from ${minimum} to ${maximum}`;
  return z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], { error: message })
    .refine((value) => Number.isInteger(value) && value >= minimum && value <= maximum, { error: message });
}

export const text: z.ZodString = z.string({ error: 'expected text' });

export const duration: z.ZodType<number, string> = z
  .string({ error: 'expected a duration such as 500ms, 30s or 5m' })
  .transform((value) => parseDurationMs(value))
  .refine((value): value is number => value !== undefined, { error: 'expected a duration such as 500ms, 30s or 5m' });

/** A number for which 0 stands for the default, as in files of the original. */
export function zeroMeans(fallback: number, value: z.ZodType<number>): z.ZodType<number, string | number> {
  const written = z.preprocess((given: string | number) => (given === 0 ? '0' : given), value);
  return written.transform((read) => (read === 0 ? fallback : read));
}

/** `host:port`, `:port` or `[v6]:port`. */
export const address: z.ZodType<Address, string> = text
  .transform((value): Address | undefined => {
    const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
    const port = Number(match?.[3]);
    if (match === null || port > 65_535) return undefined;
    const host = match[1] ?? match[2] ?? '';
    return host === '' ? { port } : { host, port };
  })
  .refine((value): value is Address => value !== undefined, {
    error: 'expected an address such as :8081 or 127.0.0.1:8081',
  });

export const kindName: z.ZodType<string, string> = text.refine((name) => findKind(name) !== undefined, {
  error: (issue) => `unknown kind "${String(issue.input)}"; known kinds: ${kindNames}`,
});

/** The kinds that are ingested unless the configuration says otherwise. */
export const defaultKindNames: readonly string[] = defaultKinds.map(({ kind }) => kind);

/** At least one kind. */
export const kindList = z
  .array(kindName, { error: 'expected a list of kinds' })
  .min(1, { error: 'expected at least one kind' });

export function perKind<T extends z.ZodType>(value: T): z.ZodType<Readonly<Record<string, z.output<T>>>> {
  const map = z.record(kindName, value, { error: 'expected a map from kind to value' });
  // The chart of the original writes a key without a value where the map is empty.
  return z.preprocess((given) => given ?? {}, map);
}

export function mode<const Mode extends string>(modes: readonly [Mode, ...Mode[]]): z.ZodType<Mode> {
  return z.enum(modes, { error: `expected ${modes.join(' or ')}` });
}
