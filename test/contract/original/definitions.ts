// The protobuf definitions as protobufjs reads them, which shares no code with our encoder and decoder.
import type protobuf from 'protobufjs';
import { parseDefinitions } from '../../../hack/generate/proto/parse.ts';

let parsed: Promise<protobuf.Root> | undefined;

export function definitionsOf(): Promise<protobuf.Root> {
  parsed ??= parseDefinitions();
  return parsed;
}

interface Identity {
  readonly uid: string;
  readonly name: string;
}

/** Metadata of the objects in the column `proto` of these rows, as a client of the original reads it. */
export async function readByOriginal(
  kind: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<readonly Identity[]> {
  const type = (await definitionsOf()).lookupType(`michelangelo.api.v2.${kind}`);
  return rows.map(({ proto }) => (type.decode(proto as Buffer).toJSON() as { readonly metadata: Identity }).metadata);
}
