// The page: an overview, the objects of a kind, one object. Each user sees what they may read.
import { render, type VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Action, Actions } from './actions.tsx';
import { EventsView } from './events-view.tsx';
import { replaceAddress, useAddress, useLoaded } from './hooks.ts';
import { type Address, hashOf, objectHash } from './lib/address.ts';
import { type ApiError, createApi } from './lib/api.ts';
import type { KindSummary, Summary } from './lib/documents.ts';
import { ListView } from './list-view.tsx';
import { ObjectView } from './object-view.tsx';
import { Overview } from './overview.tsx';
import { StuckNote } from './stuck-view.tsx';
import { Problem } from './words.tsx';

const login = (): Readonly<Record<string, string>> => {
  const token = sessionStorage.getItem('token');
  return token === null ? {} : { Authorization: `Bearer ${token}` };
};
/** Stands before the hash, so that it stays while one goes from object to object. */
const cluster = new URLSearchParams(location.search).get('cluster') ?? undefined;
const api = createApi('/', login, cluster);
const apiOfAll = createApi('/', login);

function Page(): VNode {
  const address = useAddress();
  const [turn, setTurn] = useState(0);
  const place = [address.plural, address.namespace, address.name].filter((part) => part !== undefined).join('/');
  const { value: summary, error } = useLoaded(`${place} ${turn}`, async (signal) => {
    return (await api<Summary>('/summary', { signal })).document;
  });
  const again = (): void => setTurn((known) => known + 1);
  useTitle(address, summary?.items);
  if (error?.status === 401) return <Login error={error} again={again} />;
  return (
    <>
      <header>
        <h1>
          <a href="#/">Stored objects</a>
        </h1>
        <Crumbs address={address} />
        <ClusterChoice turn={turn} />
      </header>
      <div id="body">
        <nav aria-label="Kinds">
          <ul>
            {summary?.items.map(({ kind, plural, counts }) => (
              <li>
                <a href={hashOf([plural])} aria-current={plural === address.plural ? 'page' : undefined}>
                  {kind} <span class="quiet">{(counts.live + counts.evicted).toLocaleString('en')}</span>
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <main>
          {error === undefined ? null : <Problem text={error.message} />}
          {summary === undefined ? null : <View address={address} summary={summary} turn={turn} again={again} />}
        </main>
      </div>
    </>
  );
}

/** Nothing where there is one cluster. */
function ClusterChoice({ turn }: { readonly turn: number }): VNode | null {
  const { value: clusters = [] } = useLoaded(`clusters ${turn}`, async (signal) => {
    const { items } = (await apiOfAll<Named>('/-/clusters', { signal })).document;
    return items.map(({ name }) => name);
  });
  const [own] = clusters;
  if (clusters.length < 2) return null;
  return (
    <label class="cluster">
      Cluster{' '}
      <select
        value={cluster ?? own}
        onChange={({ currentTarget: { value } }) => {
          location.search = value === own ? '' : new URLSearchParams({ cluster: value }).toString();
        }}
      >
        {clusters.map((name) => (
          <option value={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

interface Named {
  readonly items: readonly { readonly name: string }[];
}

function useTitle({ plural, namespace, name }: Address, kinds: readonly KindSummary[] = []): void {
  useEffect(() => {
    const kind = kinds.find((one) => one.plural === plural)?.kind ?? plural;
    const at = name === undefined ? kind : `${kind} ${namespace ?? ''}/${name}`;
    document.title = at === '' ? 'Stored objects' : `${at} · Stored objects`;
  }, [plural, namespace, name, kinds]);
}

function Crumbs({ address: { plural, namespace, name } }: { readonly address: Address }): VNode | null {
  if (namespace === undefined || name === undefined) return null;
  return (
    <p class="crumbs">
      <a href={hashOf([plural])}>{plural}</a> /{' '}
      <a href={hashOf([plural], new URLSearchParams({ namespace }))}>{namespace}</a>
    </p>
  );
}

/** MySQL has what was done, as a rule. */
const SETTLED_MS = 2000;

interface ViewProps {
  readonly address: Address;
  readonly summary: Summary;
  readonly turn: number;
  readonly again: () => void;
}

function View({ address, summary, turn, again }: ViewProps): VNode {
  const { plural, namespace, name, query } = address;
  const kind = summary.items.find((one) => one.plural === plural);
  const place = hashOf([plural, namespace ?? '', name ?? '']);
  const done = (action: Action): void => {
    // What was restored is another incarnation of the name.
    if (action === 'restore' && namespace !== undefined && name !== undefined)
      replaceAddress(objectHash(plural, { namespace, name }));
    again();
    setTimeout(again, SETTLED_MS);
  };
  if (plural === '') return <Overview api={api} summary={summary} turn={turn} />;
  if (kind === undefined) return <Problem text={`There is no kind ${plural} that you may list.`} />;
  if (namespace === undefined || name === undefined) return <ListView api={api} kind={kind} query={query} />;
  return (
    <>
      <StuckNote {...{ api, plural, namespace, name, turn }} />
      <ObjectView
        // What is shown of one object is no part of another.
        key={place}
        {...{ api, plural, namespace, name, turn }}
        uid={query.get('uid') ?? undefined}
        kinds={summary.items}
        onIncarnation={(uid) => {
          location.hash = hashOf([plural, namespace, name], new URLSearchParams({ uid }));
        }}
        more={({ metadata }) => <EventsView api={api} plural={plural} metadata={metadata} turn={turn} />}
        actions={({ metadata }) => (
          <Actions key={metadata.uid} api={api} plural={plural} metadata={metadata} done={done} />
        )}
      />
    </>
  );
}

/** A first visit is no error: only a token that was refused is. */
function Login({ error, again }: { readonly error: ApiError; readonly again: () => void }): VNode {
  const input = useRef<HTMLInputElement>(null);
  /** The answer to a request without a token, or from before this one was sent. */
  const [before, forgive] = useState(sessionStorage.getItem('token') === null ? error : undefined);
  useEffect(() => {
    sessionStorage.removeItem('token');
    input.current?.focus();
  }, [error]);
  return (
    <main class="login">
      <h1>Stored objects</h1>
      <form
        id="login"
        onSubmit={(event) => {
          event.preventDefault();
          sessionStorage.setItem('token', input.current?.value.trim() ?? '');
          forgive(error);
          again();
        }}
      >
        <label for="token">Bearer token of the cluster</label>
        <input id="token" ref={input} type="password" autocomplete="off" spellcheck={false} required />
        <button class="main">Show</button>
        {error === before ? null : <Problem text={error.message} />}
        <p class="quiet">
          For example from <code>kubectl create token</code>. It stays in this tab. Through <code>kubectl proxy</code>{' '}
          none is needed.
        </p>
      </form>
    </main>
  );
}

const root = document.getElementById('page');
// What the shell says while this program loads goes.
root?.replaceChildren();
if (root !== null) render(<Page />, root);
