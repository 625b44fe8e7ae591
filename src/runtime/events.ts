import type { KubernetesObject } from '../api/object.ts';

export interface CreateEvent {
  readonly object: KubernetesObject;
  /** Part of the initial list, so not necessarily new. */
  readonly initial: boolean;
}

export interface UpdateEvent {
  readonly before: KubernetesObject;
  readonly after: KubernetesObject;
}

export interface DeleteEvent {
  /** The last state that was known. */
  readonly object: KubernetesObject;
  /** The removal itself was not seen, so the last state was not necessarily seen either. */
  readonly finalStateUnknown: boolean;
}

/** Something outside the cluster asks to look at an object. */
export interface GenericEvent {
  readonly object: KubernetesObject;
}
