import { CodedError } from '../base/errors.ts';

/** A JSON value does not fit the protobuf definition of its kind. `path` is where, never what. */
export class ProtoEncodingError extends CodedError {
  readonly path: string;
  readonly expected: string;

  constructor(path: string, expected: string) {
    super(
      'PROTO_UNENCODABLE',
      `${path}: expected ${expected}. Correct the field, and check that the CRD on the cluster is the one of this release.`,
    );
    this.path = path;
    this.expected = expected;
  }
}

/** Stored bytes are not a message of the kind: cut off, damaged, or written with other definitions. */
export class ProtoDecodingError extends CodedError {
  constructor(path: string, reason: string, cause?: unknown) {
    super('PROTO_UNDECODABLE', `${path}: ${reason}. The json column of the same row holds the object too.`, { cause });
  }
}

/** The kind has no definition in schema/proto. */
export class ProtoUnknownKindError extends CodedError {
  constructor(kind: string) {
    super(
      'PROTO_UNKNOWN_KIND',
      `No protobuf definition for kind "${kind}". Kinds with one are listed in schema/proto.`,
    );
  }
}
