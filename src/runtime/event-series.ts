// What an Event of events.k8s.io/v1 looks like, and which of them are the same thing again; pure.
import { createHash } from 'node:crypto';
import type { KubernetesObject } from '../api/object.ts';
import { redact } from '../base/redact.ts';
import { events } from '../kube/resources.ts';
import { microTime } from './lease.ts';

export interface ObjectEvent {
  readonly type: 'Normal' | 'Warning';
  /** Why, as one word for machines: `Evicted`. */
  readonly reason: string;
  /** What was done, as one word for machines: `Evict`. */
  readonly action: string;
  /** For users. Secrets are redacted and the text is cut to the length that the API server accepts. */
  readonly note: string;
}

export interface Reporter {
  /** A qualified name, such as `michelangelo.api/ingester`. */
  readonly controller: string;
  /** Which process, such as the name of its pod. */
  readonly instance: string;
}

const NOTE_BYTES = 1024;
const WORD_LENGTH = 128;
const NAME_LENGTH = 253;
/** Of objects without a namespace. */
const FALLBACK_NAMESPACE = 'default';

/** Events with the same key are one series: the note is not part of it, because it often has changing numbers. */
export function seriesKey(object: KubernetesObject, event: ObjectEvent): string {
  const { namespace, name, uid } = object.metadata;
  return JSON.stringify([object.apiVersion, object.kind, namespace, name, uid, event.type, event.reason, event.action]);
}

export function namespaceOf(object: KubernetesObject): string {
  const { namespace } = object.metadata as { readonly namespace?: string };
  return namespace === undefined || namespace === '' ? FALLBACK_NAMESPACE : namespace;
}

/** The first event of a series. */
export function newEvent(
  object: KubernetesObject,
  event: ObjectEvent,
  reporter: Reporter,
  when: { readonly at: Date; readonly unique: string },
): { readonly name: string; readonly body: object } {
  const { name, uid, resourceVersion } = object.metadata;
  const suffix = createHash('sha256').update(when.unique).digest('hex').slice(0, 16);
  const eventName = `${name.slice(0, NAME_LENGTH - suffix.length - 1)}.${suffix}`;
  const namespace = namespaceOf(object);
  const regarding = { apiVersion: object.apiVersion, kind: object.kind, name, uid, resourceVersion };
  return {
    name: eventName,
    body: {
      apiVersion: `${events.group}/${events.version}`,
      kind: 'Event',
      metadata: { name: eventName, namespace },
      eventTime: microTime(when.at),
      reportingController: reporter.controller,
      reportingInstance: reporter.instance.slice(0, WORD_LENGTH),
      regarding: object.metadata.namespace ? { ...regarding, namespace: object.metadata.namespace } : regarding,
      type: event.type,
      reason: event.reason.slice(0, WORD_LENGTH),
      action: event.action.slice(0, WORD_LENGTH),
      note: cutToBytes(redact(event.note), NOTE_BYTES),
    },
  };
}

/** How often the series has happened, and when last. */
export function seriesPatch(count: number, last: Date): object {
  return { series: { count, lastObservedTime: microTime(last) } };
}

/** The longest start that fits, without a broken character at its end. */
export function cutToBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text, 'utf8');
  if (encoded.length <= bytes) return text;
  let end = bytes - Buffer.byteLength('…');
  while (end > 0 && ((encoded[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${encoded.toString('utf8', 0, end)}…`;
}
