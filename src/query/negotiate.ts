// Which form of the answer the Accept header asks for. Only JSON is served, in the three shapes that Kubernetes
// clients know.
import { ownValue } from '../base/json.ts';
import { QueryError } from './errors.ts';

export type Shape = 'object' | 'table' | 'metadata';

interface MediaType {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

export function parseAccept(header: string | undefined): readonly MediaType[] {
  return (header ?? '*/*').split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim());
    return {
      type: type.toLowerCase(),
      parameters: new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string])),
    };
  });
}

const shapes: Readonly<Record<string, Shape>> = {
  Table: 'table',
  PartialObjectMetadata: 'metadata',
  PartialObjectMetadataList: 'metadata',
};

/** The first form in the header's order that is served. */
export function negotiateShape(header: string | undefined): Shape {
  for (const { type, parameters } of parseAccept(header)) {
    if (!isJson(type)) continue;
    const as = parameters.get('as');
    if (as === undefined) return 'object';
    const shape =
      parameters.get('g') === 'meta.k8s.io' && parameters.get('v') === 'v1' ? ownValue(shapes, as) : undefined;
    if (shape !== undefined) return shape;
  }
  throw new QueryError('NotAcceptable', 'only application/json is served, as objects, Table or PartialObjectMetadata');
}

function isJson(type: string): boolean {
  return type === 'application/json' || type === 'application/*' || type === '*/*';
}
