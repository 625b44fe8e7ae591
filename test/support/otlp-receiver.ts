// A collector on loopback that decodes what OTLP over HTTP brings, by the published definitions and not by the library that
// sent it.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import type { Certificate } from '../../hack/local/certificates.ts';

/** opentelemetry/proto/collector/trace/v1/trace_service.proto, the fields that are looked at. */
const DEFINITIONS = `
  syntax = "proto3";
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
  }
  message Link { bytes trace_id = 1; bytes span_id = 2; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`;

const request = protobuf.parse(DEFINITIONS, { keepCase: true }).root.lookupType('ExportTraceServiceRequest');

type Values = Readonly<Record<string, unknown>>;

export interface ReceivedSpan {
  readonly service: unknown;
  readonly resource: Values;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty where it begins a trace, or that of another program. */
  readonly parentId: string;
  readonly name: string;
  /** As OTLP numbers them: 1 internal, 2 server, 3 client, 5 consumer. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Values;
  readonly links: readonly string[];
  readonly failed: boolean;
}

/** What the collector answers: with a status, never, or a byte now and then. */
type Answer = number | 'never' | 'drips';

export interface OtlpReceiver {
  readonly endpoint: string;
  readonly spans: ReceivedSpan[];
  readonly requests: IncomingMessage[];
  answer: Answer;
  close(): Promise<void>;
}

/** Over HTTPS where it is given a certificate. */
export async function startOtlpReceiver(certificate?: Certificate): Promise<OtlpReceiver> {
  const answer = (incoming: IncomingMessage, response: ServerResponse): void => void receive(incoming, response);
  const server =
    certificate === undefined
      ? createServer(answer)
      : createTlsServer({ cert: certificate.certificatePem, key: certificate.keyPem }, answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: OtlpReceiver = {
    endpoint: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    spans: [],
    requests: [],
    answer: 200,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  const receive = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(incoming);
    receiver.requests.push(incoming);
    const { answer: how } = receiver;
    if (how === 200) receiver.spans.push(...decode(incoming, body));
    if (typeof how === 'number') response.writeHead(how).end();
    if (how !== 'drips') return;
    response.writeHead(200);
    const timer = setInterval(() => response.write('.'), 100);
    response.once('close', () => clearInterval(timer));
  };
  return receiver;
}

interface Decoded {
  readonly resource_spans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scope_spans: readonly { readonly spans: readonly DecodedSpan[] }[];
  }[];
}

interface KeyValue {
  readonly key: string;
  readonly value: Values;
}

interface DecodedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string;
  readonly name: string;
  readonly kind: number;
  readonly start_time_unix_nano: string;
  readonly end_time_unix_nano: string;
  readonly attributes?: readonly KeyValue[];
  readonly links?: readonly { readonly span_id: string }[];
  readonly status?: { readonly code?: number };
}

function decode({ headers, url }: IncomingMessage, body: Buffer): readonly ReceivedSpan[] {
  if (headers['content-type'] !== 'application/x-protobuf' || url?.endsWith('/v1/traces') !== true) return [];
  const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  const message = request.toObject(request.decode(bytes), {
    bytes: String,
    longs: String,
    defaults: true,
    arrays: true,
  });
  return (message as unknown as Decoded).resource_spans.flatMap(({ resource, scope_spans }) => {
    const own = valuesOf(resource.attributes);
    return scope_spans.flatMap(({ spans }) => spans.map((span) => received(span, own)));
  });
}

function received(span: DecodedSpan, resource: Values): ReceivedSpan {
  const hex = (text: string): string => Buffer.from(text, 'base64').toString('hex');
  return {
    service: resource['service.name'],
    resource,
    traceId: hex(span.trace_id),
    spanId: hex(span.span_id),
    parentId: hex(span.parent_span_id),
    name: span.name,
    kind: span.kind,
    startMs: Number(span.start_time_unix_nano) / 1e6,
    endMs: Number(span.end_time_unix_nano) / 1e6,
    attributes: valuesOf(span.attributes),
    links: (span.links ?? []).map(({ span_id }) => hex(span_id)),
    failed: span.status?.code === 2,
  };
}

function valuesOf(attributes: readonly KeyValue[] = []): Values {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [[name, found] = ['', undefined]] = Object.entries(value);
      return [key, name === 'int_value' ? Number(found) : found];
    }),
  );
}
