import { CodedError, messageOf } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { encodeObject } from '../proto/encode.ts';
import type { ProtoEncoder } from './row.ts';

/**
 * The protobuf form for readers of the original's `proto` column. An object that has none (a field of another shape
 * than the definitions, which the API server allows once a schema is newer than this program) is stored with an empty
 * one: the json column is complete, and refusing the object would leave it without a row and undeletable.
 */
export function lenientEncoder(logger: Logger): ProtoEncoder {
  return (kind: string, object: JsonObject): Uint8Array => {
    try {
      return encodeObject(kind, object);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      logger.warn({ kind, reason: messageOf(error) }, 'Stored without its protobuf form; the json column is complete');
      return new Uint8Array();
    }
  };
}
