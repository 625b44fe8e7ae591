// The events of a watch as text, one a line.
import type { KindDefinition } from '../../api/kind.ts';
import type { JsonObject } from '../../base/json.ts';
import type { StoredObject } from '../../storage/metadata-storage.ts';
import { type QueryError, statusObject } from '../errors.ts';
import { objectDocument } from '../list.ts';
import { STORED_GROUP, STORED_GROUP_VERSION } from '../names.ts';
import type { Shape } from '../negotiate.ts';
import { columnDefinitions, type IncludeObject } from '../table.ts';
import type { Change } from './change-log.ts';
import type { Moment } from './moments.ts';
import type { EventType } from './watch-request.ts';

export interface EventForm {
  readonly kind: KindDefinition;
  readonly shape: Shape;
  readonly includeObject: IncludeObject;
}

/** Watches of the same form share the text. */
export function changeText(type: EventType, { stored, shown }: Change, form: EventForm, now: Date): string {
  const name = `${form.shape} ${form.includeObject}`;
  const text = shown.get(name) ?? JSON.stringify(documentOf(stored, form, now));
  shown.set(name, text);
  return `{"type":"${type}","object":${text}}\n`;
}

export function initialText(stored: StoredObject, form: EventForm, now: Date): string {
  return eventText('ADDED', documentOf(stored, form, now));
}

function documentOf(stored: StoredObject, form: EventForm, now: Date): JsonObject {
  const { resourceVersion } = stored;
  return objectDocument(stored, { ...form, resourceVersion, now });
}

/** Says up to which moment the client knows everything. */
export function bookmarkText(
  { kind, shape }: EventForm,
  moment: Moment,
  { endsInitial }: { readonly endsInitial: boolean },
): string {
  const metadata = {
    resourceVersion: String(moment),
    ...(endsInitial ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
  };
  switch (shape) {
    case 'object':
      return eventText('BOOKMARK', { kind: kind.kind, apiVersion: STORED_GROUP_VERSION, metadata });
    case 'metadata':
      return eventText('BOOKMARK', { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
    case 'table': {
      const table = { kind: 'Table', apiVersion: 'meta.k8s.io/v1', columnDefinitions: columnDefinitions({ kind }) };
      return eventText('BOOKMARK', { ...table, metadata, rows: [] });
    }
  }
}

export function errorText(error: QueryError): string {
  return eventText('ERROR', statusObject(error, STORED_GROUP));
}

function eventText(type: EventType | 'BOOKMARK' | 'ERROR', object: JsonObject): string {
  return `${JSON.stringify({ type, object })}\n`;
}
