// The tab "Stored" on the Michelangelo objects of Argo CD, whose proxy says to the query API who asks. Argo CD brings
// React: a component of its React holds a place, and what the page shows of an object is drawn there.
import { render } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiError } from './lib/api.ts';
import { type Api, createApi } from './lib/api.ts';
import { ObjectView } from './object-view.tsx';
import sheet from './public/object.css';
import { Problem } from './words.tsx';

interface Properties {
  readonly application: {
    readonly metadata: { readonly namespace: string; readonly name: string };
    readonly spec: { readonly project?: string };
  };
  readonly resource: { readonly kind: string; readonly namespace: string; readonly name: string };
}

interface ArgoCd {
  readonly React: {
    readonly useRef: (value: null) => { readonly current: HTMLElement | null };
    readonly useEffect: (effect: () => (() => void) | undefined, inputs: readonly unknown[]) => void;
    readonly createElement: (name: string, properties: object) => unknown;
  };
  readonly extensionsAPI: {
    readonly registerResourceExtension: (
      ...registered: readonly [component: unknown, group: string, kind: string, title: string, options: object]
    ) => void;
  };
  readonly ingesterPlurals: Readonly<Record<string, string>>;
}

const { React, extensionsAPI, ingesterPlurals: plurals } = window as unknown as ArgoCd;

const hints: Readonly<Record<number, string>> = {
  401: 'Argo CD sends no valid token: see "The tab in Argo CD" in the documentation of the Ingester.',
  403: 'Neither Argo CD nor the account of its token lets you see this.',
  404: 'The Ingester has not stored this object.',
};

/** Relative to the address of Argo CD, which may stand behind a prefix. */
function apiOf({ metadata, spec }: Properties['application']): Api {
  return createApi('extensions/ingester/', () => ({
    'Argocd-Application-Name': `${metadata.namespace}:${metadata.name}`,
    'Argocd-Project-Name': spec.project ?? 'default',
  }));
}

function Tab({ application, resource: { kind, namespace, name } }: Properties) {
  const [uid, choose] = useState<string | undefined>(undefined);
  return (
    <>
      <style>{sheet}</style>
      <ObjectView
        api={apiOf(application)}
        plural={plurals[kind] ?? ''}
        {...{ namespace, name, uid }}
        kinds={[]}
        onIncarnation={choose}
        failed={({ status, message }: ApiError) => (
          <Problem text={[message, hints[status]].filter((one) => one !== undefined).join('. ')} />
        )}
      />
    </>
  );
}

function Stored(properties: Properties): unknown {
  const place = React.useRef(null);
  const { kind, namespace, name } = properties.resource;
  React.useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    render(<Tab key={`${kind} ${namespace} ${name}`} {...properties} />, current);
    return () => render(null, current);
  }, [kind, namespace, name]);
  return React.createElement('div', { ref: place, className: 'ingester ingester-tab' });
}

for (const kind of Object.keys(plurals)) {
  extensionsAPI.registerResourceExtension(Stored, 'michelangelo.api', kind, 'Stored', { icon: 'fa fa-database' });
}
