import type { VNode } from 'preact';
import { useLoaded } from './hooks.ts';
import { listPath, objectHash } from './lib/address.ts';
import type { Api } from './lib/api.ts';
import type { KindSummary, StoredDocument, Table } from './lib/documents.ts';
import { namedBy, referrersOf } from './lib/relations.ts';

interface Box {
  readonly title: string;
  readonly note: string;
  readonly href: string | undefined;
}

const [WIDTH, HEIGHT, GAP, BETWEEN] = [210, 44, 10, 60];
/** Of each kind that names the object. */
const SHOWN = 4;

interface Props {
  readonly api: Api;
  readonly object: StoredDocument;
  readonly kinds: readonly KindSummary[];
}

/** Left, what the object names; right, what names it. */
export function RelationsPicture({ api, object, kinds }: Props): VNode | null {
  const before: readonly Box[] = namedBy(object, kinds).map(({ kind, by, name, namespace, plural }) => ({
    title: name,
    note: by === 'owner' ? `${kind}, owner` : kind,
    href: plural === undefined ? undefined : objectHash(plural, { namespace, name }),
  }));
  const { value: after = [] } = useLoaded(`${object.metadata.uid} ${kinds.length}`, (signal) =>
    following(api, object, kinds, signal),
  );
  if (before.length + after.length === 0) return null;
  const columns = [before, [{ title: object.metadata.name, note: object.kind, href: undefined }], after].filter(
    (boxes) => boxes.length > 0,
  );
  const own = before.length > 0 ? 1 : 0;
  const height = Math.max(...columns.map(heightOf));
  const width = columns.length * WIDTH + (columns.length - 1) * BETWEEN;
  return (
    <section aria-label="Relations">
      <h3>Relations</h3>
      <div class="picture" tabIndex={0} role="group" aria-label="Picture of the relations">
        <svg viewBox={`-1 -1 ${width + 2} ${height + 2}`} width={width} height={height} role="presentation">
          {columns.map((boxes, column) =>
            boxes.map((_box, index) =>
              column === own ? null : <path class="edge" d={edge({ column, index, boxes, own, height })} />,
            ),
          )}
          {columns.map((boxes, column) =>
            boxes.map((box, index) => (
              <BoxView box={box} x={column * (WIDTH + BETWEEN)} y={top(boxes, index, height)} own={column === own} />
            )),
          )}
        </svg>
      </div>
    </section>
  );
}

async function following(
  api: Api,
  object: StoredDocument,
  kinds: readonly KindSummary[],
  signal: AbortSignal,
): Promise<readonly Box[]> {
  const found = referrersOf(object, kinds).map(async ({ kind, plural, query, hash }) => {
    const { rows, metadata } = (await api<Table>(listPath(plural, query, SHOWN), { as: 'table', signal })).document;
    const boxes = rows.map((row): Box => {
      const { name, uid } = row.object.metadata;
      return { title: name, note: kind, href: objectHash(plural, row.object.metadata, uid) };
    });
    return metadata.continue === undefined ? boxes : [...boxes, { title: 'All of them', note: kind, href: hash }];
  });
  return (await Promise.all(found)).flat();
}

const heightOf = (boxes: readonly Box[]): number => boxes.length * (HEIGHT + GAP) - GAP;
const top = (boxes: readonly Box[], index: number, height: number): number =>
  (height - heightOf(boxes)) / 2 + index * (HEIGHT + GAP);

interface Edge {
  readonly column: number;
  readonly index: number;
  readonly boxes: readonly Box[];
  readonly own: number;
  readonly height: number;
}

function edge({ column, index, boxes, own, height }: Edge): string {
  const y = top(boxes, index, height) + HEIGHT / 2;
  const left = Math.min(column, own) * (WIDTH + BETWEEN) + WIDTH;
  const [from, to] = column < own ? [y, height / 2] : [height / 2, y];
  const middle = left + BETWEEN / 2;
  return `M${left} ${from}C${middle} ${from} ${middle} ${to} ${left + BETWEEN} ${to}`;
}

interface BoxProps {
  readonly box: Box;
  readonly x: number;
  readonly y: number;
  readonly own: boolean;
}

function BoxView({ box: { title, note, href }, x, y, own }: BoxProps): VNode {
  const content = (
    <g class={own ? 'box own' : 'box'} transform={`translate(${x} ${y})`}>
      <title>{`${note} ${title}`}</title>
      <rect width={WIDTH} height={HEIGHT} rx="6" />
      <text x="12" y="19" class="title">
        {title.length > 26 ? `${title.slice(0, 25)}…` : title}
      </text>
      <text x="12" y="35" class="note">
        {note}
      </text>
    </g>
  );
  return href === undefined ? content : <a href={href}>{content}</a>;
}
