// What every command of the plugin begins with: the flags that kubectl has too, and a connection with them.
import type { Command } from 'commander';
import type { StoredObjects } from '../../app/commands/stored-objects.ts';
import { loadConfiguration } from '../../config/load.ts';
import { type KindName, kindNames } from '../../kinds/kind-names.ts';
import { ArgumentError } from '../errors.ts';

export interface GlobalFlags {
  readonly config?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

export interface Session {
  readonly objects: StoredObjects;
  /** The one that was named, else that of the kubeconfig's context. */
  readonly namespace: string;
}

/** Runs the work with a connection, which is closed at the end. */
export async function withSession<T>(program: Command, work: (session: Session) => Promise<T>): Promise<T> {
  const { config, kubeconfig, context, namespace } = program.opts<GlobalFlags>();
  const { kubernetes } = loadConfiguration({ file: config, env: process.env });
  const { StoredObjects } = await import('../../app/commands/stored-objects.ts');
  const objects = new StoredObjects({
    kubernetes: {
      ...kubernetes,
      kubeconfig: kubeconfig ?? kubernetes.kubeconfig,
      context: context ?? kubernetes.context,
    },
  });
  try {
    return await work({ objects, namespace: namespace ?? objects.namespace });
  } finally {
    await objects.close();
  }
}

/** `models`, `model`, `Model` or `models.michelangelo.api`. */
export function kindOf(text: string): KindName {
  const [word = ''] = text.toLowerCase().split('.');
  const kind = kindNames.find(({ kind, plural }) => plural === word || kind.toLowerCase() === word);
  if (kind !== undefined) return kind;
  const known = kindNames.map(({ plural }) => plural).join(', ');
  throw new ArgumentError(`There is no kind "${text.slice(0, 100)}"; there are ${known}`);
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
