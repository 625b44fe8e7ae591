// The plugin generator of Argo CD's ApplicationSet: which objects of a namespace are archived, as patches of kustomize
// that mark their manifests. Patches are part of the Application, so a new tombstone renders anew by itself.
//
//   POST /api/v1/getparams.execute   {"applicationSetName": "...", "input": {"parameters": {"namespace": "ml"}}}
import type { KindDefinition } from '../api/kind.ts';
import { valueAt } from '../base/json.ts';
import { type ObjectName, tombstonePatch } from '../gitops/tombstone.ts';
import type { StorageReads } from '../storage/metadata-storage.ts';
import { readJsonBody } from './body.ts';
import { type Context, sendJson } from './context.ts';
import { QueryError } from './errors.ts';
import type { QueryAppOptions } from './options.ts';
import { isNamespace } from './paths.ts';

export const GENERATOR_PATH = '/api/v1/getparams.execute';

/** An Application is one object in etcd, which takes 1.5 MB. */
const MOST_TOMBSTONES = 5000;

/** Doubt is an error: with a mark too few, Argo CD creates an archived object, which may run it, again. */
export async function answerGenerator(context: Context, options: QueryAppOptions): Promise<void> {
  const { request, time, user } = context;
  if (request.method !== 'POST') throw new QueryError('MethodNotAllowed', 'this path takes POST');
  const namespace = valueAt(await readJsonBody(request), ['input', 'parameters', 'namespace']);
  if (typeof namespace !== 'string' || !isNamespace(namespace)) {
    throw new QueryError('BadRequest', 'input.parameters.namespace: expected the namespace of the manifests');
  }
  const patches: object[] = [];
  for (const kind of options.kinds) {
    await time.within(options.authorizer.require(user, { verb: 'list', kind, namespace }, time.signal));
    const archived = await time.within(archivedOf(options.storage.until(time.signal), kind, namespace));
    if (archived.length > 0) patches.push(tombstonePatch(kind.kind, archived, ['argocd']));
  }
  sendJson(context, { output: { parameters: [{ namespace, patches }] } });
}

async function archivedOf(
  storage: StorageReads,
  kind: KindDefinition,
  namespace: string,
): Promise<readonly ObjectName['name'][]> {
  const found = await storage.tombstones(kind, { namespace, limit: MOST_TOMBSTONES + 1 });
  if (found.length <= MOST_TOMBSTONES) return found.map(({ name }) => name);
  throw new QueryError(
    'InternalError',
    `more than ${MOST_TOMBSTONES} archived objects of ${kind.plural} in ${namespace}; take some of their manifests out of Git`,
  );
}
