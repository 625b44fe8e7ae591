// As much of Argo CD as the tab has to do with: a page with React and the extensions API, and the proxy that says to the
// query API who asks. Routes, headers and properties are those of Argo CD 3.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { QueryServer } from '../query-server.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
/** It may stand behind a prefix. */
const PREFIX = '/argocd/';
const PROXY = `${PREFIX}extensions/ingester`;

const scripts: Readonly<Record<string, string>> = {
  'react.js': read('node_modules/react/umd/react.production.min.js'),
  'react-dom.js': read('node_modules/react-dom/umd/react-dom.production.min.js'),
  'extensions.js': read('config/argocd/extension/extension-ingester.js'),
};

/** The tab of the kind, as it is shown for an object of the Application; `#<kind>/<namespace>/<name>` says which. */
const host = `
  const registered = [];
  window.extensionsAPI = {
    registerResourceExtension: (component, group, kind, title) => registered.push({ component, group, kind, title }),
  };
  window.tabs = () => registered.map(({ group, kind, title }) => group + ' ' + kind + ' ' + title);
  window.show = (kind, namespace, name) => {
    const tab = registered.find((each) => each.group === 'michelangelo.api' && each.kind === kind);
    const application = { metadata: { namespace: 'argocd', name: 'models' }, spec: { project: 'ml' } };
    const properties = { application, resource: { group: 'michelangelo.api', kind, namespace, name }, tree: {} };
    window.view ??= ReactDOM.createRoot(document.getElementById('tab'));
    window.view.render(React.createElement(tab.component, properties));
  };`;

const page = `<!doctype html><meta charset="utf-8"><base href="${PREFIX}"><title>Argo CD</title><div id="tab"></div>
<script src="react.js"></script><script src="react-dom.js"></script><script>${host}</script><script src="extensions.js"></script>`;

export interface ArgoCd {
  readonly url: string;
  /** What the proxy passed on, as header lines. */
  readonly asked: readonly string[];
  stop(): void;
}

export async function startArgoCd(query: () => QueryServer, token: () => Promise<string>): Promise<ArgoCd> {
  const asked: string[] = [];
  const answer = (incoming: IncomingMessage, response: ServerResponse): void => {
    const { url = '/' } = incoming;
    const script = scripts[url.slice(PREFIX.length)];
    if (url.startsWith(`${PROXY}/`)) void passOn(incoming, response);
    else response.setHeader('Content-Type', script === undefined ? 'text/html' : 'text/javascript').end(script ?? page);
  };
  const passOn = async ({ url = '', headers }: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { 'argocd-application-name': application, 'argocd-project-name': project } = headers;
    if (application === undefined || project === undefined) {
      response.writeHead(400).end('the application or the project is not named');
      return;
    }
    asked.push(`${String(application)} ${String(project)}`);
    const { caPem: ca, url: target } = query();
    const authorization = `Bearer ${await token()}`;
    request(
      `${target}${url.slice(PROXY.length)}`,
      { ca, headers: { accept: headers.accept, authorization } },
      (got) => {
        response.writeHead(got.statusCode ?? 500, got.headers);
        got.pipe(response);
      },
    ).end();
  };
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PREFIX}`, asked, stop };
}
