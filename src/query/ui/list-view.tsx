// The objects of a kind: found as one types, ordered by a click on a head, with how many there are.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { replaceAddress, useLoaded } from './hooks.ts';
import { countPath, hashOf, listPath, nextOrder, objectHash, orderField } from './lib/address.ts';
import type { Api, ApiError } from './lib/api.ts';
import type { Aggregate, Column, KindSummary, Table } from './lib/documents.ts';
import { Problem, Value } from './words.tsx';

const PAGE = 50;
const MAX_ROWS = 2000;
const TYPING_MS = 250;

interface Props {
  readonly api: Api;
  readonly kind: KindSummary;
  readonly query: URLSearchParams;
}

function withFilter(query: URLSearchParams, name: string, value: string | undefined): URLSearchParams {
  const next = new URLSearchParams(query);
  if (value === undefined || value === '') next.delete(name);
  else next.set(name, value);
  return next;
}

export function ListView({ api, kind, query }: Props): VNode {
  const set = (name: string, value: string | undefined): void =>
    replaceAddress(hashOf([kind.plural], withFilter(query, name, value)));
  return (
    <>
      <div class="bar">
        <h2 tabIndex={-1}>{kind.kind}</h2>
        <Total api={api} kind={kind} query={query} />
      </div>
      <Search key={kind.plural} kind={kind} query={query} set={set} />
      <Results api={api} kind={kind} query={query} set={set} />
    </>
  );
}

/** Null where the count does not know the filters; then the table says that there are more. */
function Total({ api, kind, query }: Props): VNode | null {
  const { value } = useLoaded(countPath(kind.plural, query), async (signal) => {
    return (await api<Aggregate>(countPath(kind.plural, query), { signal })).document.items[0]?.count ?? 0;
  });
  return value === undefined ? null : <p class="quiet">{value.toLocaleString('en')} found</p>;
}

interface SearchProps {
  readonly kind: KindSummary;
  readonly query: URLSearchParams;
  readonly set: (name: string, value: string | undefined) => void;
}

const more = [
  ['labelSelector', 'Labels', 'team in (a,b),!old'],
  ['annotationSelector', 'Annotations', 'note="to be kept"'],
  ['fieldSelector', 'Fields', 'spec.algorithm=xgboost, metadata.ownerReferences=Pipeline/train'],
  ['where', 'Expression', 'spec.owner.name == "ada"'],
] as const;

function Search({ kind, query, set }: SearchProps): VNode {
  const given = more.some(([name]) => query.has(name));
  return (
    <form id="search" role="search" onSubmit={(event) => event.preventDefault()}>
      <Field name="name" label="Name begins with" hint="any" query={query} set={set} />
      <Field name="namespace" label="Namespace" hint="all" query={query} set={set} />
      <label>
        Where
        <select
          name="source"
          value={query.get('source') ?? 'present'}
          onChange={({ currentTarget: { value } }) => set('source', value === 'present' ? undefined : value)}
        >
          <option value="present">live and evicted</option>
          <option value="live">live</option>
          <option value="evicted">evicted</option>
          <option value="deleted">deleted</option>
          <option value="all">all</option>
        </select>
      </label>
      <details open={given}>
        <summary>More filters</summary>
        <div class="more">
          {more.map(([name, label, hint]) => (
            <Field name={name} label={label} hint={hint} query={query} set={set} />
          ))}
          <p class="quiet">Indexed fields: {kind.fields.join(', ')}</p>
        </div>
      </details>
    </form>
  );
}

interface FieldProps extends Omit<SearchProps, 'kind'> {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
}

/** Takes effect when the typing rests, or with Enter. */
function Field({ name, label, hint, query, set }: FieldProps): VNode {
  const known = query.get(name) ?? '';
  const [text, type] = useState(known);
  useEffect(() => type(known), [known]);
  useEffect(() => {
    if (text === known) return undefined;
    const timer = setTimeout(() => set(name, text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, known]);
  return (
    <label>
      {label}
      <input
        name={name}
        value={text}
        placeholder={hint}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => type(currentTarget.value)}
      />
    </label>
  );
}

function Results({ api, kind, query, set }: SearchProps & Props): VNode {
  const path = listPath(kind.plural, query, PAGE);
  const { value: first, error } = useLoaded(path, async (signal) => {
    return { path, table: (await api<Table>(path, { as: 'table', signal })).document };
  });
  if (error !== undefined) return <Problem text={error.message} />;
  if (first === undefined) return <p class="quiet">Asking …</p>;
  if (first.table.rows.length === 0) return <p role="status">Nothing is stored that is asked for.</p>;
  return <Rows key={first.path} {...{ api, kind, query, set }} path={first.path} first={first.table} />;
}

interface RowsProps extends SearchProps, Props {
  readonly path: string;
  readonly first: Table;
}

function Rows({ api, kind, query, set, path, first }: RowsProps): VNode {
  const [pages, add] = useState<readonly Table[]>([first]);
  const [error, fail] = useState<string | undefined>(undefined);
  const rows = pages.flatMap((page) => page.rows);
  const next = pages.at(-1)?.metadata.continue;
  const load = (): void => {
    api<Table>(`${path}&continue=${encodeURIComponent(next ?? '')}`, { as: 'table' }).then(
      ({ document }) => add((known) => (known.at(-1)?.metadata.continue === next ? [...known, document] : known)),
      (problem: unknown) => fail((problem as ApiError).message),
    );
  };
  const columns = first.columnDefinitions
    .map((column, index) => ({ column, index }))
    .filter(({ column }) => column.name !== 'UID');
  return (
    <section aria-label="Results" id="results">
      <div class="scroll" tabIndex={0} role="group" aria-label="Table of results">
        <table class="cards">
          <thead>
            <tr>
              {[...columns.map(({ column }) => column), namespaceColumn].map((column) => (
                <Head column={column} fields={kind.fields} query={query} set={set} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ cells, object: { metadata } }) => (
              <tr key={metadata.uid}>
                {columns.map(({ column, index }) => (
                  <td data-column={column.name}>
                    {column.name === 'Name' ? (
                      <a href={objectHash(kind.plural, metadata, metadata.uid)}>{metadata.name}</a>
                    ) : (
                      <Value text={cellText(cells[index])} />
                    )}
                  </td>
                ))}
                <td data-column={namespaceColumn.name}>{metadata.namespace}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {error === undefined ? null : <Problem text={error} />}
      {next === undefined ? null : rows.length >= MAX_ROWS ? (
        <p>There are more: narrow the search down.</p>
      ) : (
        <button type="button" onClick={load}>
          More
        </button>
      )}
    </section>
  );
}

const cellText = (cell: unknown): string =>
  typeof cell === 'string' ? cell : cell === null || cell === undefined ? '' : JSON.stringify(cell);

const namespaceColumn: Column = { name: 'Namespace', description: '' };

interface HeadProps extends Omit<SearchProps, 'kind'> {
  readonly column: Column;
  readonly fields: readonly string[];
}

function Head({ column, fields, query, set }: HeadProps): VNode {
  const field = orderField(column, fields);
  if (field === undefined) return <th scope="col">{column.name}</th>;
  const order = query.get('orderBy');
  const sorted = order === field ? 'ascending' : order === `-${field}` ? 'descending' : 'none';
  return (
    <th scope="col" aria-sort={sorted}>
      <button type="button" class="link" onClick={() => set('orderBy', nextOrder(order, field))}>
        {column.name}
      </button>
    </th>
  );
}
