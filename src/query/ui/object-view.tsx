// One object: where it lives, what happened to it, what it belongs to, its YAML. The page and the tab in Argo CD show it.
import type { ComponentChildren, VNode } from 'preact';
import { useLoaded } from './hooks.ts';
import { objectPath } from './lib/address.ts';
import type { Answer, Api, ApiError } from './lib/api.ts';
import { type Incarnations, type KindSummary, mark, type StoredDocument, stateOf } from './lib/documents.ts';
import { RelationsPicture } from './relations-picture.tsx';
import { TimelineView } from './timeline-view.tsx';
import { Place, Problem, Time } from './words.tsx';
import { YamlView } from './yaml-view.tsx';

export interface ObjectProps {
  readonly api: Api;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
  /** Kinds to link to; none where there is no page to go to. */
  readonly kinds: readonly KindSummary[];
  readonly onIncarnation: (uid: string) => void;
  /** Counts up when the object has to be read again. */
  readonly turn?: number;
  /** What can be done with it. */
  readonly actions?: (object: StoredDocument) => ComponentChildren;
  /** What else there is to say of it. */
  readonly more?: (object: StoredDocument) => ComponentChildren;
  readonly failed?: (error: ApiError) => ComponentChildren;
}

export function ObjectView(props: ObjectProps): VNode {
  const { api, plural, namespace, name, uid, turn = 0, failed } = props;
  const { value, error } = useLoaded(JSON.stringify([plural, namespace, name, uid, turn]), async (signal) => {
    const path = objectPath(plural, { namespace, name });
    const chosen = uid === undefined ? '' : `?uid=${encodeURIComponent(uid)}`;
    const [one, history] = await Promise.all([
      api<StoredDocument>(`${path}${chosen}`, { signal }),
      api<Incarnations>(`${path}/incarnations`, { signal }),
    ]);
    return { one, history: history.document };
  });
  if (error !== undefined) return <>{failed?.(error) ?? <Problem text={error.message} />}</>;
  if (value === undefined) return <p class="quiet">Asking …</p>;
  return <Shown {...props} {...value} />;
}

interface ShownProps extends ObjectProps {
  readonly one: Answer<StoredDocument>;
  readonly history: Incarnations;
}

function Shown({ api, kinds, onIncarnation, actions, more, one, history }: ShownProps): VNode {
  const object = one.document;
  const { metadata } = object;
  return (
    <article class="object">
      <div class="bar">
        <div>
          <h2 tabIndex={-1}>{metadata.name}</h2>
          <p class="quiet">
            {object.kind} in {metadata.namespace}
          </p>
        </div>
        <Place state={stateOf(metadata)} />
        {actions?.(object)}
      </div>
      <div class="columns">
        <div class="aside">
          <Facts answer={one} />
          <TimelineView object={object} />
          <History history={history} shown={metadata.uid} onIncarnation={onIncarnation} />
        </div>
        <div class="body">
          <RelationsPicture api={api} object={object} kinds={kinds} />
          {more?.(object)}
          <YamlView key={metadata.uid} json={one.text} />
        </div>
      </div>
    </article>
  );
}

function Facts({ answer: { document, lag } }: { readonly answer: Answer<StoredDocument> }): VNode {
  const { uid, resourceVersion, labels = {} } = document.metadata;
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    ['UID', <code>{uid}</code>],
    ['Version', resourceVersion],
    ['Labels', Object.entries(labels).map(([key, value]) => <code class="label">{`${key}=${value}`}</code>)],
    ['Complete', lag === undefined ? 'unknown' : `up to ${Math.round(lag)} s ago`],
  ];
  return (
    <dl>
      {facts.map(([term, value]) =>
        Array.isArray(value) && value.length === 0 ? null : (
          <>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </>
        ),
      )}
    </dl>
  );
}

interface HistoryProps {
  readonly history: Incarnations;
  readonly shown: string;
  readonly onIncarnation: (uid: string) => void;
}

function History({ history: { items }, shown, onIncarnation }: HistoryProps): VNode {
  return (
    <section aria-label="History">
      <h3>History</h3>
      <ul class="history">
        {items.map(({ metadata }) => {
          const left = mark(metadata, 'delete-time') ?? mark(metadata, 'evict-time');
          return (
            <li>
              <button
                type="button"
                class="link"
                disabled={metadata.uid === shown}
                onClick={() => onIncarnation(metadata.uid)}
              >
                {metadata.uid}
              </button>
              <span class="quiet">
                {stateOf(metadata)}, created{' '}
                {metadata.creationTimestamp === undefined ? 'unknown' : <Time at={metadata.creationTimestamp} />}
                {left === undefined ? null : (
                  <>
                    , left etcd <Time at={left} />
                  </>
                )}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
