// What every command of the plugin begins with: the flags that kubectl has too, and a connection with them.
import type { Command } from 'commander';
import type { StoredObjects } from '../../app/commands/stored-objects.ts';
import { loadConfiguration } from '../../config/load.ts';
import type { KindName } from '../../kinds/kind-names.ts';
import { KubeError } from '../../kube/errors.ts';
import type { Impersonated } from '../../kube/http/login.ts';
import { ArgumentError } from '../errors.ts';
import { kindOf } from '../kind.ts';
import { NotInNamespaceError } from './errors.ts';

export interface GlobalFlags {
  readonly config?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly ofCluster?: string;
}

export interface Session {
  readonly objects: StoredObjects;
  /** The one that was named, else that of the kubeconfig's context. */
  readonly namespace: string;
}

/** Runs the work with a connection, which is closed at the end. */
export async function withSession<T>(program: Command, work: (session: Session) => Promise<T>): Promise<T> {
  const { config, kubeconfig, context, namespace, ofCluster: cluster, ...flags } = program.opts<GlobalFlags>();
  const { kubernetes } = loadConfiguration({ file: config, env: process.env });
  const { StoredObjects } = await import('../../app/commands/stored-objects.ts');
  const objects = new StoredObjects({
    kubernetes: {
      ...kubernetes,
      kubeconfig: kubeconfig ?? kubernetes.kubeconfig,
      context: context ?? kubernetes.context,
    },
    ...impersonatedBy(flags),
    ...(cluster === undefined ? {} : { cluster }),
  });
  try {
    return await work({ objects, namespace: namespace ?? objects.namespace });
  } catch (error) {
    if (namespace === undefined && isMissing(error)) throw new NotInNamespaceError(error.said, objects.namespace);
    throw error;
  } finally {
    await objects.close();
  }
}

/** Of one object; a kind that is not served is in no namespace. */
function isMissing(error: unknown): error is KubeError & { readonly said: string } {
  return error instanceof KubeError && error.reason === 'NotFound' && / "[^"]*" not found$/.test(error.said ?? '');
}

/** Groups alone are refused by the API server, and here before it is asked. */
export function impersonatedBy({ as, asGroup = [] }: Pick<GlobalFlags, 'as' | 'asGroup'>): { as?: Impersonated } {
  if (as !== undefined) return { as: { user: as, groups: asGroup } };
  if (asGroup.length > 0) throw new ArgumentError('--as-group also takes --as, the user');
  return {};
}

/** `model m1`, or `model/m1`. */
export function kindAndName(first: string, second: string | undefined): { kind: KindName; name: string | undefined } {
  const [kind = '', name, ...rest] = first.split('/');
  if (rest.length > 0 || (name !== undefined && second !== undefined)) {
    throw new ArgumentError(`"${first.slice(0, 100)}" is neither a kind nor kind/name`);
  }
  return { kind: kindOf(kind), name: name ?? second };
}

/** The same where a name must be given. */
export function oneObject(first: string, second: string | undefined): { kind: KindName; name: string } {
  const { kind, name } = kindAndName(first, second);
  if (name === undefined || name === '') throw new ArgumentError(`Name the ${kind.kind}: ${kind.plural} <name>`);
  return { kind, name };
}

export function objectPath(kind: KindName, namespace: string, name: string): string {
  return `/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}`;
}
