// What a kubeconfig says about the context in use. Pure: files are read by login.ts.
//
// Several files are merged as kubectl does: of two entries with one name the first counts. Paths in a file are relative
// to its folder.
import { dirname, isAbsolute, join } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { isJsonObject, type JsonObject, valueAt } from '../../base/json.ts';
import { KubeconfigError } from '../errors.ts';

export interface KubeconfigFile {
  readonly path: string;
  readonly text: string;
}

/** The entries of a cluster and of a user, with absolute paths. */
export interface ChosenContext {
  /** URL of the API server, without a slash at its end. */
  readonly server: string;
  /** `default` where the context names none. */
  readonly namespace: string;
  readonly cluster: JsonObject;
  readonly user: JsonObject;
}

const FILES_OF_CLUSTER = ['certificate-authority'];
const FILES_OF_USER = ['client-certificate', 'client-key', 'tokenFile'];

/** The context of that name, or the current one for an empty name. Throws KubeconfigError with all that is wrong. */
export function chooseContext(files: readonly KubeconfigFile[], wanted: string): ChosenContext {
  const contents = files.map((file) => ({ folder: dirname(file.path), content: parse(file) }));
  const all = (list: string, field: string, paths: readonly string[]): Map<string, JsonObject> => {
    const named = contents.flatMap(({ folder, content }) => entriesOf(content, { list, field, paths, folder }));
    // Of two with one name the first counts: a map keeps the last.
    return new Map(named.toReversed());
  };
  const contexts = all('contexts', 'context', []);
  const name = wanted === '' ? currentContext(contents.map(({ content }) => content)) : wanted;
  const context = contexts.get(name);
  if (context === undefined) {
    const known = [...contexts.keys()].map((key) => `"${key}"`).join(', ');
    throw new KubeconfigError(
      name === '' ? 'the kubeconfig has no current-context' : `no context "${name}"; there is ${known || 'none'}`,
    );
  }
  const cluster = all('clusters', 'cluster', FILES_OF_CLUSTER).get(textOf(context, 'cluster') ?? '');
  const user = all('users', 'user', FILES_OF_USER).get(textOf(context, 'user') ?? '');
  const problems = [...problemsOfCluster(context, cluster), ...problemsOfUser(context, user)];
  if (problems.length > 0) throw new KubeconfigError(`the context "${name}" cannot be used: ${problems.join('; ')}`);
  const namespace = textOf(context, 'namespace') ?? 'default';
  return { server: serverOf(cluster).replace(/\/$/, ''), namespace, cluster: cluster ?? {}, user: user ?? {} };
}

function parse({ path, text }: KubeconfigFile): JsonObject {
  // The library's own messages quote the text, and the text has secrets.
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter });
  if (document.errors.length > 0) {
    const where = document.errors.map(({ code, pos }) => `line ${lineCounter.linePos(pos[0]).line} (${code})`);
    throw new KubeconfigError(`${path} is not valid YAML at ${where.join(', ')}`);
  }
  const content: unknown = document.toJS() ?? {};
  if (!isJsonObject(content)) throw new KubeconfigError(`${path} is not a kubeconfig`);
  return content;
}

interface Part {
  readonly list: string;
  readonly field: string;
  /** Fields that hold the path of a file. */
  readonly paths: readonly string[];
  readonly folder: string;
}

/** Name and content of each entry, as in `clusters: [{ name, cluster: {} }]`. */
function entriesOf(content: JsonObject, { list, field, paths, folder }: Part): (readonly [string, JsonObject])[] {
  const entries: unknown = content[list];
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown) => {
    const [name, body] = [valueAt(entry, ['name']), valueAt(entry, [field])];
    if (typeof name !== 'string') return [];
    return [[name, withAbsolutePaths(isJsonObject(body) ? body : {}, paths, folder)] as const];
  });
}

function withAbsolutePaths(entry: JsonObject, paths: readonly string[], folder: string): JsonObject {
  const absolute = { ...entry };
  for (const field of paths) {
    const path = entry[field];
    if (typeof path === 'string' && path !== '' && !isAbsolute(path)) absolute[field] = join(folder, path);
  }
  return absolute;
}

function currentContext(contents: readonly JsonObject[]): string {
  const names = contents.map((content) => textOf(content, 'current-context'));
  return names.find((name) => name !== undefined) ?? '';
}

function serverOf(cluster: JsonObject | undefined): string {
  return (cluster === undefined ? undefined : textOf(cluster, 'server')) ?? '';
}

function problemsOfCluster(context: JsonObject, cluster: JsonObject | undefined): string[] {
  if (cluster === undefined) return [`no cluster "${textOf(context, 'cluster') ?? ''}"`];
  const server = serverOf(cluster);
  const problems = /^https?:$/.test(URL.parse(server)?.protocol ?? '') ? [] : [`"${server}" is no URL of a server`];
  if ((cluster['proxy-url'] ?? '') !== '') problems.push('proxy-url is not supported');
  return problems;
}

/** A context without a user is one that does not log in. */
function problemsOfUser(context: JsonObject, user: JsonObject | undefined): string[] {
  const name = textOf(context, 'user');
  return user !== undefined || name === undefined ? [] : [`no user "${name}"`];
}

/** The text of a field; undefined where it is empty, missing or something else. */
export function textOf(entry: JsonObject, field: string): string | undefined {
  const value = entry[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
