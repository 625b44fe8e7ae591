// Users of the query API, honest ones and others, who talk to it directly.
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import type { Bundle } from '../../../hack/local/bundle.ts';
import type { ApiServer } from '../api-server.ts';
import { type HttpsAnswer, httpsGet, httpsPost } from '../https-get.ts';
import type { QueryServer } from '../query-server.ts';
import { PATH } from './stored-models.ts';

const HOME = 'users';

export interface QueryUser {
  get(path: string): Promise<HttpsAnswer>;
  post(path: string, body: object): Promise<HttpsAnswer>;
  /** Sends the head of a request and what else is given, and then nothing, and reads nothing. */
  begin(head: string, more?: string): Promise<TLSSocket>;
}

/** A service account, which may list and get models in these namespaces. */
export async function createUser(
  { bundle, api, server }: { readonly bundle: Bundle; readonly api: ApiServer; readonly server: QueryServer },
  name: string,
  namespaces: readonly string[] = [],
): Promise<QueryUser> {
  await api.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: HOME } } });
  const account = { metadata: { name } };
  await api.must({ method: 'POST', path: `/api/v1/namespaces/${HOME}/serviceaccounts`, body: account });
  const subject = { kind: 'ServiceAccount', namespace: HOME, name };
  await Promise.all(namespaces.map((namespace) => allow(api, namespace, subject, name)));
  const token = (await bundle.kubectl('create', 'token', name, '-n', HOME)).trim();
  return userOf(server, token);
}

export function userOf({ url, caPem }: QueryServer, token: string): QueryUser {
  const trust = { caPem, headers: { authorization: `Bearer ${token}` } };
  return {
    get: (path) => httpsGet(`${url}${PATH}${path}`, trust),
    post: (path, body) => httpsPost(`${url}${PATH}${path}`, trust, body),
    begin: async (head, more = '') => {
      const { hostname, port } = new URL(url);
      const socket = connect({ host: hostname, port: Number(port), ca: caPem });
      // What becomes of it shows in what others get.
      socket.on('error', () => undefined);
      socket.pause();
      await once(socket, 'secureConnect');
      const [line = '', ...headers] = head.split('\n');
      const [method = '', path = ''] = line.split(' ');
      const lines = [`${method} ${PATH}${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, ...headers];
      socket.write(`${lines.join('\r\n')}\r\n\r\n${more}`);
      return socket;
    },
  };
}

export const MODEL_READERS = 'attacked-model-readers';

/** The role that bindings of users refer to. */
export async function createModelReaders(api: ApiServer): Promise<void> {
  const rules = [{ apiGroups: ['michelangelo.api'], resources: ['models'], verbs: ['get', 'list'] }];
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  await api.must({ method: 'POST', path, body: { metadata: { name: MODEL_READERS }, rules } });
}

/** Makes the namespace where there is none. */
export async function allow(api: ApiServer, namespace: string, subject: object, name: string): Promise<void> {
  await api.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: MODEL_READERS };
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
  await api.must({ method: 'POST', path, body: { metadata: { name }, roleRef, subjects: [subject] } });
}
