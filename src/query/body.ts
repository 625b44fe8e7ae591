// Bodies of requests: read within bounds, and held against the form that they must have.
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { systemClock, within } from '../base/clock.ts';
import { QueryError } from './errors.ts';

/** A search is a few lines; nothing here takes a whole object. */
const MOST_BYTES = 64 * 1024;
/** For the whole body; a little less than its connection has, so that its client gets the reason. */
const BODY_MS = 8000;

/** The JSON of a request's body; undefined where there is none. Throws QueryError for a wrong body. */
export async function readJsonBody(request: IncomingMessage, mediaType = 'application/json'): Promise<unknown> {
  const limit = { clock: systemClock, timeoutMs: BODY_MS };
  const bytes = await within(
    limit,
    () => collect(request),
    () => {
      throw new QueryError('Timeout', `the body did not arrive within ${BODY_MS / 1000} s`);
    },
  );
  if (bytes.length === 0) return undefined;
  const type = (request.headers['content-type'] ?? mediaType).split(';')[0]?.trim().toLowerCase();
  if (type !== mediaType) throw new QueryError('UnsupportedMediaType', `the body must be ${mediaType}`);
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    throw new QueryError('BadRequest', 'the body is not valid JSON');
  }
}

/** The body in its form; nothing is an empty object. Throws QueryError with all that is wrong. */
export function bodyAs<Shape extends z.core.$ZodShape>(
  form: z.ZodObject<Shape>,
  body: unknown,
): z.output<z.ZodObject<Shape>> {
  const { data, error } = form.safeParse(body ?? {});
  if (error === undefined) return data;
  const known = Object.keys(form.shape).join(', ');
  throw new QueryError('BadRequest', error.issues.flatMap((issue) => problems(issue, known)).join('; '));
}

function problems(issue: z.core.$ZodIssue, known: string): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `"${key.slice(0, 100)}" is not known; known are ${known}`);
  }
  return [`${issue.path.length === 0 ? 'the body' : issue.path.join('.').slice(0, 200)} ${issue.message}`];
}

/** Missing where it is empty. */
export const optionalText: z.ZodType<string | undefined> = z
  .string({ error: 'is a text' })
  .nullish()
  .transform((value) => (value === '' || value === null ? undefined : value));

/** As a boolean, or as Kubernetes has it: `All`, or a list of that. */
export const dryRunFlag: z.ZodType<boolean> = z
  .union([z.boolean(), z.string(), z.null(), z.array(z.union([z.boolean(), z.string()]))], { error: 'is All' })
  .default(false)
  .transform((value) => (Array.isArray(value) ? value : [value ?? false]).map(String))
  .refine((all) => all.every((one) => ['All', 'true', 'false'].includes(one)), { error: 'is All' })
  .transform((all) => all.some((one) => one !== 'false'));

async function collect(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  // A client that sends too much gets that answer over the same connection.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MOST_BYTES) {
      throw new QueryError('RequestEntityTooLarge', `the body has more than ${MOST_BYTES} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
