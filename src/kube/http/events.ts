import { isJsonObject, valueAt } from '../../base/json.ts';
import type { WatchEvent } from '../client.ts';
import { KubeError, reasonOfStatus } from '../errors.ts';
import { splitEvent } from './json-scan.ts';
import { readLazily, readWhole } from './received-object.ts';

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/**
 * One line of a watch. Throws KubeError for an ERROR event and for a line that is no event. Objects are parsed when they
 * are read, see lazyObject.
 */
export function parseEvent(line: Buffer): WatchEvent {
  const parts = splitEvent(line);
  if (parts === undefined) throw new KubeError('Unavailable', 'The watch sent something that is not an event');
  const { type, object } = parts;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: readLazily(object) };
    case 'BOOKMARK':
      return bookmark(readWhole(object));
    default:
      throw errorEvent(readWhole(object));
  }
}

function bookmark(object: unknown): WatchEvent {
  return {
    type: 'BOOKMARK',
    resourceVersion: String(valueAt(object, ['metadata', 'resourceVersion'])),
    initialEventsEnd: valueAt(object, ['metadata', 'annotations', INITIAL_EVENTS_END]) === 'true',
  };
}

/** An ERROR event carries a Status; 410 means the watch cannot go on from where it was. */
function errorEvent(status: unknown): KubeError {
  const code = valueAt(status, ['code']);
  const message = valueAt(status, ['message']);
  const reason = reasonOfStatus(typeof code === 'number' ? code : 500) ?? 'Unavailable';
  const text = isJsonObject(status) && typeof message === 'string' ? message : 'the watch reported an error';
  return new KubeError(reason, `watch: ${text}`);
}
