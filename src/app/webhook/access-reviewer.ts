import type { AccessReviewer, Requester, Subject } from '../../../webhooks/ports.ts';
import type { Clock } from '../../base/clock.ts';
import { type JsonObject, valueAt } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { subjectAccessReviews } from '../../kube/resources.ts';
import { ask } from '../../sync/admission/lookups.ts';

export interface ReviewerOptions {
  /** Connects when it is asked first, so that a webhook that never asks needs no API server. */
  readonly client: () => Promise<Pick<KubeClient, 'create'>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Asks the API server by SubjectAccessReview, so RBAC and every other authoriser count. */
export class ApiAccessReviewer implements AccessReviewer {
  readonly #options: ReviewerOptions;

  constructor(options: ReviewerOptions) {
    this.#options = options;
  }

  mayDelete(user: Requester, object: Subject, signal: AbortSignal): Promise<'yes' | 'no' | 'unknown'> {
    const { client } = this.#options;
    const failure = 'SubjectAccessReview failed; requests that set a mark are refused meanwhile';
    return ask({ ...this.#options, signal, failure }, 'unknown', async (over) =>
      answerOf(await (await client()).create(subjectAccessReviews, '', reviewOf(user, object), { signal: over })),
    );
  }
}

function reviewOf(user: Requester, object: Subject): JsonObject {
  const { group, version, plural: resource, namespace, name } = object;
  const extra = Object.fromEntries(Object.entries(user.userExtra).map(([key, values]) => [key, [...values]]));
  return {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: user.username,
      uid: user.userUid,
      groups: [...user.groups],
      extra,
      resourceAttributes: { verb: 'delete', group, version, resource, namespace, name },
    },
  };
}

/** Undecided where an authoriser failed, unless another one has allowed it. */
function answerOf(review: object): 'yes' | 'no' | 'unknown' {
  if (valueAt(review, ['status', 'allowed']) === true) return 'yes';
  const failure = valueAt(review, ['status', 'evaluationError']);
  return typeof failure === 'string' && failure !== '' ? 'unknown' : 'no';
}
