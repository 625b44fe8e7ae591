import type { KubernetesObject } from '../../../src/api/object.ts';
import type { HandlerRegistration, Informs, ResourceHandler } from '../../../src/kube/handler.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';

/** An informer whose events and whose end of the initial list the test decides. */
export class FakeInformer implements Informs {
  readonly handlers: Set<ResourceHandler> = new Set<ResourceHandler>();
  synced = false;
  readonly #existing: readonly KubernetesObject[];

  constructor(existing: readonly KubernetesObject[] = []) {
    this.#existing = existing;
  }

  addHandler(handler: ResourceHandler): HandlerRegistration {
    this.handlers.add(handler);
    for (const object of this.#existing) handler.add(asWatched(object), true);
    const isSynced = (): boolean => this.synced;
    return {
      get synced() {
        return isSynced();
      },
      remove: () => this.handlers.delete(handler),
    };
  }

  add(object: KubernetesObject, initial = false): void {
    for (const handler of this.handlers) handler.add(asWatched(object), initial);
  }

  update(before: KubernetesObject, after: KubernetesObject): void {
    for (const handler of this.handlers) handler.update(asWatched(before), asWatched(after));
  }

  delete(object: KubernetesObject, finalStateUnknown = false): void {
    for (const handler of this.handlers) handler.delete(asWatched(object), finalStateUnknown);
  }
}
