// Where the API server is, and what to log in with: the service account of the pod, or a kubeconfig. Certificates,
// tokens and passwords are read here; exec plugins and auth providers are the client library's.
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { isIPv6 } from 'node:net';
import { delimiter, join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { messageOf } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { KubeconfigError } from '../errors.ts';
import { type ChosenContext, chooseContext, textOf } from './kubeconfig.ts';

/** PEM texts, and how to verify the server. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface LoginData {
  readonly tls: TlsMaterial;
  /** Headers of every request, with lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

export interface Login {
  /** URL of the API server, without a slash at its end. */
  readonly server: string;
  /** Where the URL comes from, for users. */
  readonly origin: string;
  /** The namespace of commands that name none. */
  readonly namespace: string;
  /** What to log in with now. Files are read again each time, because they rotate. */
  read(): Promise<LoginData>;
}

export interface KubeconfigSource {
  /** Empty: the KUBECONFIG variable, else the service account of the pod, else ~/.kube/config. */
  readonly kubeconfig: string;
  readonly context: string;
  /** The user and the groups to act as, in place of those that the kubeconfig names. */
  readonly as?: Impersonated;
  /** For tests; what the process is in otherwise. */
  readonly surroundings?: Surroundings;
}

export interface Impersonated {
  readonly user: string;
  readonly groups: readonly string[];
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that a pod's service account is mounted at: token and ca.crt. */
  readonly serviceAccountFolder: string;
}

const theProcess = (): Surroundings => ({
  env: process.env,
  serviceAccountFolder: '/var/run/secrets/kubernetes.io/serviceaccount',
});

/** Throws KubeconfigError where nothing usable is configured. */
export function openLogin(source: KubeconfigSource): Login {
  const login = configuredLogin(source);
  return source.as === undefined ? login : impersonating(login, source.as);
}

function impersonating(login: Login, { user, groups }: Impersonated): Login {
  const { server, origin, namespace } = login;
  const read = async (): Promise<LoginData> => {
    const { tls, headers } = await login.read();
    const own = Object.entries(headers).filter(([name]) => !name.startsWith('impersonate-'));
    return { tls, headers: { ...Object.fromEntries(own), ...impersonation({ as: user, 'as-groups': [...groups] }) } };
  };
  return { server, origin, namespace, read };
}

function configuredLogin({ kubeconfig, context, surroundings = theProcess() }: KubeconfigSource): Login {
  const { env, serviceAccountFolder } = surroundings;
  if (kubeconfig !== '') return new KubeconfigLogin([kubeconfig], context, 'kubernetes.kubeconfig');
  const paths = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  // Of several files, as with kubectl, those that do not exist are passed over.
  const existing = paths.length > 1 ? paths.filter((path) => existsSync(path)) : paths;
  if (existing.length > 0) return new KubeconfigLogin(existing, context, 'KUBECONFIG');
  if (context === '' && existsSync(join(serviceAccountFolder, 'token'))) return new ServiceAccountLogin(surroundings);
  const personal = join(env['HOME'] ?? '/', '.kube', 'config');
  if (existsSync(personal)) return new KubeconfigLogin([personal], context, 'the kubeconfig');
  throw new KubeconfigError('there is neither a kubeconfig nor a service account');
}

/** A pod's. The kubelet replaces the token long before it expires. */
class ServiceAccountLogin implements Login {
  readonly server: string;
  readonly origin = 'KUBERNETES_SERVICE_HOST of the pod';
  readonly namespace: string;
  readonly #folder: string;

  constructor({ env, serviceAccountFolder }: Surroundings) {
    const [host = '', port = ''] = [env['KUBERNETES_SERVICE_HOST'], env['KUBERNETES_SERVICE_PORT']];
    if (host === '' || port === '') {
      throw new KubeconfigError('KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set in this pod');
    }
    this.server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    this.#folder = serviceAccountFolder;
    const file = join(serviceAccountFolder, 'namespace');
    this.namespace = existsSync(file) ? readFileSync(file, 'utf8').trim() : 'default';
  }

  async read(): Promise<LoginData> {
    const [token, ca] = await Promise.all([
      readText(join(this.#folder, 'token')),
      readText(join(this.#folder, 'ca.crt')),
    ]);
    return { tls: { ca }, headers: bearer(token) };
  }
}

/** The kubeconfig itself may be replaced, too; the server stays the one it named first. */
class KubeconfigLogin implements Login {
  readonly server: string;
  readonly origin: string;
  readonly namespace: string;
  readonly #paths: readonly string[];
  readonly #context: string;
  #plugin: { readonly login: PluginLogin; readonly entry: string } | undefined;

  constructor(paths: readonly string[], context: string, setting: string) {
    this.#paths = paths;
    this.origin = `${setting} ${paths.join(delimiter)}${context === '' ? '' : `, context ${context}`}`;
    this.#context = context;
    const files = paths.map((path) => ({ path, text: orKubeconfigError(path, () => readFileSync(path, 'utf8')) }));
    const { server, namespace } = chooseContext(files, context);
    this.server = server;
    this.namespace = namespace;
  }

  async read(): Promise<LoginData> {
    const files = await Promise.all(this.#paths.map(async (path) => ({ path, text: await readText(path) })));
    const chosen = chooseContext(files, this.#context);
    const { tls, headers } = needsPlugin(chosen.user) ? await this.#pluginFor(chosen).read() : await plainLogin(chosen);
    return { tls, headers: { ...headers, ...impersonation(chosen.user) } };
  }

  /** A plugin's token is kept inside until it expires, so the same entry keeps the same plugin. */
  #pluginFor(chosen: ChosenContext): PluginLogin {
    const entry = JSON.stringify(chosen);
    if (this.#plugin?.entry !== entry) this.#plugin = { login: new PluginLogin(chosen), entry };
    return this.#plugin.login;
  }
}

function needsPlugin(user: JsonObject): boolean {
  return isJsonObject(user['exec']) || isJsonObject(user['auth-provider']);
}

async function plainLogin({ cluster, user }: ChosenContext): Promise<LoginData> {
  const [ca, cert, key, token] = await Promise.all([
    pem(cluster, 'certificate-authority'),
    pem(user, 'client-certificate'),
    pem(user, 'client-key'),
    tokenOf(user),
  ]);
  const servername = textOf(cluster, 'tls-server-name');
  const tls: TlsMaterial = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
  };
  return { tls, headers: token === undefined ? basic(user) : bearer(token) };
}

/** The text in the kubeconfig counts before the file it names. */
async function pem(entry: JsonObject, name: string): Promise<string | undefined> {
  const data = textOf(entry, `${name}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const path = textOf(entry, name);
  return path === undefined ? undefined : readText(path);
}

/** The file counts before the text in the kubeconfig: it is the one that rotates. */
async function tokenOf(user: JsonObject): Promise<string | undefined> {
  const path = textOf(user, 'tokenFile');
  return path === undefined ? textOf(user, 'token') : readText(path);
}

function bearer(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token.trim()}` };
}

function basic(user: JsonObject): Readonly<Record<string, string>> {
  const name = textOf(user, 'username');
  if (name === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${name}:${textOf(user, 'password') ?? ''}`).toString('base64')}` };
}

function impersonation(user: JsonObject): Readonly<Record<string, string | readonly string[]>> {
  const [name, uid, groups] = [textOf(user, 'as'), textOf(user, 'as-uid'), user['as-groups']];
  return {
    ...(name === undefined ? {} : { 'impersonate-user': name }),
    ...(uid === undefined ? {} : { 'impersonate-uid': uid }),
    ...(Array.isArray(groups) ? { 'impersonate-group': groups.map(String) } : {}),
  };
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new KubeconfigError(`cannot read ${path}: ${messageOf(error)}`);
  }
}

function orKubeconfigError<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new KubeconfigError(`cannot read ${path}: ${messageOf(error)}`);
  }
}

// Exec plugins and auth providers, through the client library. It is large: 80 MB and most of a second of processor
// time, so it is loaded only where a kubeconfig asks for a plugin.

export class PluginLogin {
  readonly #chosen: ChosenContext;
  #config: Promise<KubeConfig> | undefined;

  constructor(chosen: ChosenContext) {
    this.#chosen = chosen;
  }

  async read(): Promise<LoginData> {
    this.#config ??= loadLibrary(this.#chosen);
    const options: RequestOptions = { headers: {} };
    await (await this.#config).applyToHTTPSOptions(options);
    const tls = {
      ...textOption('ca', options.ca),
      ...textOption('cert', options.cert),
      ...textOption('key', options.key),
      ...textOption('servername', options.servername),
      ...(options.rejectUnauthorized === undefined ? {} : { rejectUnauthorized: options.rejectUnauthorized }),
    };
    const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]);
    return { tls, headers: Object.fromEntries(headers) as Record<string, string> };
  }
}

async function loadLibrary({ cluster, user }: ChosenContext): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const name = 'chosen';
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name, cluster }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    }),
  );
  return config;
}

function textOption(name: string, value: unknown): Readonly<Record<string, string>> {
  if (typeof value === 'string') return { [name]: value };
  return Buffer.isBuffer(value) ? { [name]: value.toString('utf8') } : {};
}
