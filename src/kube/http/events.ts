import type { KubernetesObject } from '../../api/object.ts';
import { isJsonObject, valueAt } from '../../base/json.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import type { WatchEvent } from '../client.ts';
import { KubeError, reasonOfStatus } from '../errors.ts';
import { splitEvent, withoutManagedFields } from './json-scan.ts';

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** One line of a watch. Throws KubeError for an ERROR event and for a line that is no event. */
export function parseEvent(line: string): WatchEvent {
  const parts = splitEvent(line);
  if (parts === undefined) throw new KubeError('Unavailable', 'The watch sent something that is not an event');
  const object = parseLossless(withoutManagedFields(parts.object));
  switch (parts.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: parts.type, object: object as KubernetesObject };
    case 'BOOKMARK':
      return {
        type: 'BOOKMARK',
        resourceVersion: String(valueAt(object, ['metadata', 'resourceVersion'])),
        initialEventsEnd: valueAt(object, ['metadata', 'annotations', INITIAL_EVENTS_END]) === 'true',
      };
    default:
      throw errorEvent(object);
  }
}

/** An ERROR event carries a Status; 410 means the watch cannot go on from where it was. */
function errorEvent(status: unknown): KubeError {
  const code = valueAt(status, ['code']);
  const message = valueAt(status, ['message']);
  const reason = reasonOfStatus(typeof code === 'number' ? code : 500, false) ?? 'Unavailable';
  const text = isJsonObject(status) && typeof message === 'string' ? message : 'the watch reported an error';
  return new KubeError(reason, `watch: ${text}`);
}
