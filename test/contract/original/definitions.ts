// The protobuf definitions as protobufjs reads them, which shares no code with our encoder and decoder.
import type protobuf from 'protobufjs';
import { parseDefinitions } from '../../../hack/generate/proto/parse.ts';

let parsed: Promise<protobuf.Root> | undefined;

export function definitionsOf(): Promise<protobuf.Root> {
  parsed ??= parseDefinitions();
  return parsed;
}
