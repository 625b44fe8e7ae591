import type { KubernetesObject } from '../../../src/api/object.ts';
import type {
  KubeClient,
  ListOptions,
  ListPage,
  Newest,
  Selection,
  WatchEvent,
  WatchOptions,
} from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import type { ReflectorSink } from '../../../src/kube/reflector.ts';
import { asWatched, type WatchedObject } from '../../../src/kube/watched-object.ts';
import { aModel } from '../../support/objects.ts';

/** What a watch does next: is taken, gives an event, breaks with an error, waits for ever, or, at the end, closes. */
export type Step = WatchEvent | KubeError | 'taken' | 'wait';

/** A server that answers watches and lists in turn as it was told; without a script it waits, and lists nothing. */
export class ScriptedClient implements Pick<KubeClient, 'list' | 'newest' | 'watch'> {
  readonly watches: WatchOptions[] = [];
  readonly lists: ListOptions[] = [];
  /** What it was asked, in turn: `list`, `list <continue token>` or `watch <version>`. */
  readonly calls: string[] = [];
  readonly watchScripts: (readonly Step[])[] = [];
  readonly listScripts: (ListPage | KubeError | 'wait')[] = [];
  /** Answers to those who ask for the newest version, in turn; then one above all others. */
  readonly versions: (string | KubeError)[] = [];
  /** By name, as the server has them when it is asked for the newest: what the watches showed, unless a test changes it. */
  readonly objects: Map<string, KubernetesObject> = new Map<string, KubernetesObject>();
  /** Names that it was asked for then; empty where for the version alone. */
  readonly asked: string[] = [];
  /** Watches that are open, and lists that wait. */
  open = 0;
  #break: (error: KubeError) => void = () => undefined;

  /** Breaks the watch that waits. */
  break(error: KubeError): void {
    this.#break(error);
  }

  async list(_resource: unknown, options: ListOptions, signal: AbortSignal): Promise<ListPage> {
    this.lists.push(options);
    this.calls.push(['list', options.continueToken ?? []].flat().join(' '));
    const answer = this.listScripts.shift() ?? listed('1');
    if (answer === 'wait') return this.#untilBroken(signal);
    if (answer instanceof KubeError) throw answer;
    for (const item of answer.items) this.objects.set(item.identity.name, item.parse());
    return answer;
  }

  newest(_resource: unknown, { name }: Selection & { readonly name?: string }): Promise<Newest> {
    this.asked.push(name ?? '');
    const answer = this.versions.shift() ?? '999999';
    if (answer instanceof KubeError) return Promise.reject(answer);
    return Promise.resolve({
      resourceVersion: answer,
      object: name === undefined ? undefined : this.objects.get(name)?.metadata,
    });
  }

  async *watch(_resource: unknown, options: WatchOptions, signal: AbortSignal): AsyncGenerator<readonly WatchEvent[]> {
    this.watches.push(options);
    this.calls.push(`watch ${options.resourceVersion}`);
    this.open += 1;
    try {
      for (const step of this.watchScripts.shift() ?? ['wait' as const]) {
        if (step === 'wait' || step === 'taken') {
          yield [];
          if (step === 'wait') await this.#untilAborted(signal);
        } else if (step instanceof KubeError) throw step;
        else yield [this.#known(step)];
      }
    } finally {
      this.open -= 1;
    }
  }

  #known(event: WatchEvent): WatchEvent {
    if (event.type === 'DELETED') this.objects.delete(event.object.identity.name);
    else if (event.type !== 'BOOKMARK') this.objects.set(event.object.identity.name, event.object.parse());
    return event;
  }

  async #untilBroken(signal: AbortSignal): Promise<never> {
    this.open += 1;
    try {
      return await this.#untilAborted(signal);
    } finally {
      this.open -= 1;
    }
  }

  #untilAborted(signal: AbortSignal): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.#break = reject;
      signal.addEventListener('abort', () => reject(new KubeError('Unavailable', 'aborted')), { once: true });
    });
  }
}

export const object = (name: string, resourceVersion: string): KubernetesObject =>
  aModel({ name, uid: name, resourceVersion });
export const added = (name: string, version: string): WatchEvent => ({
  type: 'ADDED',
  object: asWatched(object(name, version)),
});
export const changed = (name: string, version: string): WatchEvent => ({
  type: 'MODIFIED',
  object: asWatched(object(name, version)),
});
export const gone = (name: string, version: string): WatchEvent => ({
  type: 'DELETED',
  object: asWatched(object(name, version)),
});
export const bookmark = (resourceVersion: string): WatchEvent => ({ type: 'BOOKMARK', resourceVersion });

/** The whole of a list, or a page of it where there are more: objects as `name version`. */
export function listed(resourceVersion: string, objects: readonly string[] = [], continueToken?: string): ListPage {
  const items = objects.map((text) => {
    const [name = '', version = ''] = text.split(' ');
    return asWatched(object(name, version));
  });
  return { items, resourceVersion, continueToken };
}

/** Writes down what it is told. */
export class RecordingSink implements ReflectorSink {
  readonly told: string[] = [];
  /** What a list waits for after each page. */
  pace: Promise<undefined> = Promise.resolve(undefined);

  listStarts(): void {
    this.told.push('list starts');
  }

  listed(objects: readonly WatchedObject[]): Promise<void> {
    for (const { identity } of objects) this.told.push(`listed ${identity.name}`);
    return this.pace;
  }

  listEnds(resourceVersion: string): Promise<void> {
    this.told.push(`list ends at ${resourceVersion}`);
    return Promise.resolve();
  }

  changed({ identity }: WatchedObject): void {
    this.told.push(`changed ${identity.name} ${identity.resourceVersion}`);
  }

  removed({ identity }: WatchedObject): void {
    this.told.push(`removed ${identity.name}`);
  }

  notInstalled(): void {
    this.told.push('not installed');
  }
}
