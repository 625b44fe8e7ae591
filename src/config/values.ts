// The kinds of values that configuration keys have.
import * as z from 'zod';
import { allKinds, findKind } from '../api/kinds.ts';
import { parseDurationMs } from '../base/duration.ts';

const kindNames = allKinds.map((kind) => kind.kind).join(', ');

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

export const kindName: z.ZodType<string, string> = text.refine((name) => findKind(name) !== undefined, {
  error: (issue) => `unknown kind "${String(issue.input)}"; known kinds: ${kindNames}`,
});

export function perKind<T extends z.ZodType>(value: T): z.ZodType<Readonly<Record<string, z.output<T>>>> {
  return z.record(kindName, value, { error: 'expected a map from kind to value' });
}

export function mode<const Mode extends string>(modes: readonly [Mode, ...Mode[]]): z.ZodType<Mode> {
  return z.enum(modes, { error: `expected ${modes.join(' or ')}` });
}
