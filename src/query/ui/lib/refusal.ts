// What is said where a restore or a deletion was refused.
import type { ApiError } from './api.ts';
import type { Metadata } from './documents.ts';

export interface Wanted {
  readonly action: 'restore' | 'delete';
  readonly plural: string;
  readonly metadata: Pick<Metadata, 'name' | 'namespace' | 'uid'>;
}

/** Where it was not the API that refused, a terminal is another way to it. */
export function refusalLines(
  { status, from, message }: Pick<ApiError, 'status' | 'from' | 'message'>,
  { action, plural, metadata: { namespace, name, uid } }: Wanted,
): readonly string[] {
  if (status !== 403 || from === 'api') return [message];
  return [
    message,
    'The query API was not asked: this address of the page only reads. In a terminal, this does the same:',
    `kubectl ingester ${action} ${plural} ${name} -n ${namespace} --uid ${uid}`,
  ];
}
