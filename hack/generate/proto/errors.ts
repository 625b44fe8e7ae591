import { CodedError } from '../../../src/base/errors.ts';

/** A definition in schema/proto that this project's JSON, CRD and wire rules have no answer for. */
export class UnsupportedProtoError extends CodedError {
  constructor(where: string, reason: string) {
    super('PROTO_DEFINITION_UNSUPPORTED', `schema/proto: ${where}: ${reason}`);
  }
}
