// Whether traces are exported, by the variables that every program with OpenTelemetry has. Those of the exporter alone
// (headers, compression, certificates) it reads on its own; a wrong value switches nothing off but itself, because
// a webhook that does not start for the sake of its traces refuses every create.
import { readFileSync } from 'node:fs';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface TraceSettings {
  /** What spans are sent to, as the log may show it: without a path or a password. */
  readonly endpoint: string;
  readonly sampler: (typeof samplers)[number];
  /** Share of the traces, for the samplers that take one. */
  readonly ratio: number;
  /** Spans that wait to be sent; more are dropped. */
  readonly queueSpans: number;
  readonly batchSpans: number;
  /** From the first span of a batch until it is sent. */
  readonly delayMs: number;
  /** For one export, with what it repeats. */
  readonly timeoutMs: number;
}

export interface ReadSettings {
  /** Undefined: no traces. */
  readonly settings: TraceSettings | undefined;
  /** What is wrong with the variables, a line each, never with a value that may be a secret. */
  readonly problems: readonly string[];
}

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

type NumberName = 'queueSpans' | 'batchSpans' | 'delayMs' | 'timeoutMs';

interface NumberRule {
  /** The first that is set counts. */
  readonly variables: readonly string[];
  readonly usual: number;
  readonly least: number;
  readonly most: number;
}

/** Standard names and defaults; the most is what keeps the memory of spans below 10 MiB. */
const numbers: Readonly<Record<NumberName, NumberRule>> = {
  queueSpans: { variables: ['OTEL_BSP_MAX_QUEUE_SIZE'], usual: 2048, least: 1, most: 4096 },
  batchSpans: { variables: ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'], usual: 512, least: 1, most: 4096 },
  delayMs: { variables: ['OTEL_BSP_SCHEDULE_DELAY'], usual: 5000, least: 50, most: 60_000 },
  timeoutMs: {
    variables: ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'],
    ...{ usual: 10_000, least: 100, most: 60_000 },
  },
};

const files = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'] as const;

/** Asked before anything of the library is loaded. */
export function readTraceSettings(env: Environment): ReadSettings {
  const off = { settings: undefined, problems: [] };
  const named = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].find((name) => has(env, name));
  if (named === undefined || valueOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return off;
  const exporter = valueOf(env, 'OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (exporter === 'none') return off;
  const wrong = wrongTarget(env, named, exporter);
  if (wrong !== undefined) return { settings: undefined, problems: [`${wrong} No traces are exported.`] };
  const problems: string[] = [];
  const number = (name: NumberName): number => numberOf(env, numbers[name], problems);
  const { sampler, ratio } = samplerOf(env, problems);
  const settings = {
    endpoint: new URL(valueOf(env, named) ?? '').origin,
    sampler,
    ratio,
    queueSpans: number('queueSpans'),
    batchSpans: number('batchSpans'),
    delayMs: number('delayMs'),
    timeoutMs: number('timeoutMs'),
  };
  return { settings, problems: [...problems, ...unreadableFiles(env)] };
}

/** Empty is as good as not there. */
function valueOf(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

function has(env: Environment, name: string): boolean {
  return valueOf(env, name) !== undefined;
}

function wrongTarget(env: Environment, named: string, exporter: string): string | undefined {
  if (exporter !== 'otlp') return 'OTEL_TRACES_EXPORTER can be otlp or none.';
  const protocolName = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'].find((name) =>
    has(env, name),
  );
  if (protocolName !== undefined && valueOf(env, protocolName) !== 'http/protobuf') {
    return `${protocolName} can only be http/protobuf, which collectors take on port 4318.`;
  }
  const endpoint = URL.parse(valueOf(env, named) ?? '');
  if (endpoint !== null && ['http:', 'https:'].includes(endpoint.protocol)) return undefined;
  return `${named} is no URL that begins with http:// or https://.`;
}

function samplerOf(env: Environment, problems: string[]): Pick<TraceSettings, 'sampler' | 'ratio'> {
  const name = valueOf(env, 'OTEL_TRACES_SAMPLER');
  const sampler = samplers.find((each) => each === name);
  if (name !== undefined && sampler === undefined) {
    problems.push(`OTEL_TRACES_SAMPLER is none of ${samplers.join(', ')}; it counts as parentbased_always_on.`);
  }
  const text = valueOf(env, 'OTEL_TRACES_SAMPLER_ARG');
  const ratio = Number(text ?? 1);
  const isShare = ratio >= 0 && ratio <= 1;
  if (!isShare) problems.push('OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1; it counts as 1.');
  return { sampler: sampler ?? 'parentbased_always_on', ratio: isShare ? ratio : 1 };
}

function numberOf(env: Environment, { variables, usual, least, most }: NumberRule, problems: string[]): number {
  const variable = variables.find((name) => has(env, name));
  if (variable === undefined) return usual;
  const value = Number(valueOf(env, variable));
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  problems.push(`${variable} is no whole number from ${least} to ${most}; it counts as ${usual}.`);
  return usual;
}

/** The library would go on without them, and every export would fail for another reason than the true one. */
function unreadableFiles(env: Environment): readonly string[] {
  return files.flatMap((file) => {
    const name = [`OTEL_EXPORTER_OTLP_TRACES_${file}`, `OTEL_EXPORTER_OTLP_${file}`].find((each) => has(env, each));
    return name === undefined || isReadable(valueOf(env, name) ?? '')
      ? []
      : [`${name} names no file that can be read.`];
  });
}

function isReadable(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}
