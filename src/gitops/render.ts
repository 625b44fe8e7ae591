// A stream of rendered manifests, read and marked without touching what need not be touched: documents that get no mark
// keep every byte. Pure: which objects are archived is an input.
import { type Document, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import { GROUP } from '../api/names.ts';
import { CodedError } from '../base/errors.ts';
import { isKind } from '../kinds/kind-names.ts';
import type { ObjectName } from './tombstone.ts';

/** A manifest of one of our kinds, alone in its document or an item of a List. */
export interface Manifest extends ObjectName {
  readonly document: number;
  /** Path of the manifest inside the document. */
  readonly path: readonly (string | number)[];
}

export interface ManifestStream {
  /** The text of each document with its marker; joined they are the input. */
  readonly texts: readonly string[];
  readonly manifests: readonly Manifest[];
}

/** What came in is not a stream of manifests. `position` counts documents from 1. */
export class RenderInputError extends CodedError {
  constructor(position: number, what: string) {
    super('RENDER_INPUT', `Document ${position} of the input: ${what}. Nothing was written.`);
  }
}

/** Rendering nothing would look to Argo CD and Flux like a wish to delete everything. */
export class RenderEmptyError extends CodedError {
  constructor() {
    super(
      'RENDER_EMPTY',
      'The input has no manifest. Rendering nothing would prune everything, so this is a failure: look at the command ' +
        'that should have written the manifests.',
    );
  }
}

/** A marker stands at the start of a line; inside a block scalar every line is indented. */
const BEFORE_MARKER = /(?<=\n)(?=---(?:\s|$))/;

/**
 * Reads the stream. `defaultNamespace` is for manifests without one. Throws RenderEmptyError without a manifest and
 * RenderInputError for what is none.
 */
export function readManifests(text: string, defaultNamespace: string | undefined): ManifestStream {
  const texts = text.split(BEFORE_MARKER);
  const manifests: Manifest[] = [];
  let found = 0;
  for (const [index, part] of texts.entries()) {
    const document = parse(part, index);
    if (isEmpty(document)) continue;
    if (!isMap(document.contents)) throw new RenderInputError(index + 1, 'not a manifest');
    found += 1;
    for (const path of objectPaths(document, index)) {
      const manifest = ourManifest({ document, index, path }, defaultNamespace);
      if (manifest !== undefined) manifests.push(manifest);
    }
  }
  if (found === 0) throw new RenderEmptyError();
  return { texts, manifests };
}

/** The stream with these annotations on the given manifests. */
export function annotate(
  { texts }: ManifestStream,
  manifests: readonly Manifest[],
  annotationsOf: (manifest: Manifest) => Readonly<Record<string, string>>,
): string {
  const byDocument = Map.groupBy(manifests, ({ document }) => document);
  return texts
    .map((text, index) => {
      const marked = byDocument.get(index);
      if (marked === undefined) return text;
      const document = parse(text, index);
      for (const manifest of marked) {
        for (const [key, value] of Object.entries(annotationsOf(manifest))) {
          document.setIn([...manifest.path, 'metadata', 'annotations', key], value);
        }
      }
      return document.toString({ lineWidth: 0 });
    })
    .join('');
}

function parse(text: string, index: number): Document {
  // Merge keys and 1.1 booleans are what kubectl and kustomize read, too.
  const document = parseDocument(text, { merge: true, logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) throw new RenderInputError(index + 1, `not YAML: ${error.message.split('\n')[0] ?? ''}`);
  return document;
}

/** Nothing but comments and markers. */
function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.value === null);
}

function objectPaths(document: Document, index: number): readonly (readonly (string | number)[])[] {
  const kind: unknown = document.get('kind');
  if (typeof kind !== 'string' || typeof document.get('apiVersion') !== 'string') {
    throw new RenderInputError(index + 1, 'a manifest needs apiVersion and kind');
  }
  if (kind !== 'List') return [[]];
  const items = document.get('items');
  return isSeq(items) ? items.items.map((_, item) => ['items', item]) : [];
}

interface Place {
  readonly document: Document;
  readonly index: number;
  readonly path: readonly (string | number)[];
}

/** Undefined for other kinds, and for manifests without a fixed name, which never name an archived object. */
function ourManifest({ document, index, path }: Place, defaultNamespace: string | undefined): Manifest | undefined {
  const at = (...more: readonly string[]): unknown => document.getIn([...path, ...more]);
  const [apiVersion, kind, name] = [at('apiVersion'), at('kind'), at('metadata', 'name')];
  if (typeof apiVersion !== 'string' || !apiVersion.startsWith(`${GROUP}/`)) return undefined;
  if (typeof kind !== 'string' || !isKind(kind) || typeof name !== 'string') return undefined;
  const namespace = at('metadata', 'namespace') ?? defaultNamespace;
  if (typeof namespace !== 'string' || namespace === '') {
    throw new RenderInputError(index + 1, `${kind} ${name} has no metadata.namespace; give --namespace`);
  }
  return { kind, namespace, name, document: index, path };
}
