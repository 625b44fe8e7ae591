// Rules that choose objects for eviction besides the annotation michelangelo/Immutable.
import * as z from 'zod';
import { CelError, parseCel } from '../base/cel.ts';
import { allKinds, findKind } from '../kinds/kinds.ts';
import { duration, integer, kindName, text } from './values.ts';

const withEnd = allKinds.filter((kind) => kind.run?.endTime !== undefined).map((kind) => kind.kind);

const celText = text.superRefine((expression, context) => {
  try {
    parseCel(expression);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

/** Which objects may leave etcd. Every condition that is given must hold. */
const evictionRule = z
  .strictObject(
    {
      name: z.string({ error: 'expected text' }).min(1, { error: 'expected a name' }),
      kinds: z.array(kindName, { error: 'expected a list of kinds' }).min(1, { error: 'expected at least one kind' }),
      /** Milliseconds since the run ended. */
      finishedFor: duration.optional(),
      /** Newest finished objects of each owner that stay. */
      keepLast: integer(1, 1_000_000).optional(),
      /** CEL over `object` and `now`. */
      when: celText.optional(),
    },
    { error: 'expected a rule with name and kinds' },
  )
  .refine((rule) => rule.finishedFor !== undefined || rule.keepLast !== undefined || rule.when !== undefined, {
    error: 'a rule without a condition would evict everything; give finishedFor, keepLast or when',
  })
  .refine((rule) => rule.finishedFor === undefined || rule.kinds.every((name) => findKind(name)?.run?.endTime), {
    path: ['finishedFor'],
    error: `only ${withEnd.join(', ')} say when they ended; use when for other kinds`,
  });

export const evictionRules = z
  .array(evictionRule, { error: 'expected a list of rules' })
  .refine((rules) => new Set(rules.map(({ name }) => name)).size === rules.length, {
    error: 'two rules have the same name',
  });
