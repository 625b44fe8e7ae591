import { CodedError } from '../base/errors.ts';

/**
 * MySQL holds a newer state than the one at hand, so the finalizer must not come off yet. Passes by itself when the
 * watch catches up.
 */
export class StaleStateError extends CodedError {
  constructor(resourceVersion: string) {
    super(
      'SYNC_STALE',
      `MySQL holds a newer state than resourceVersion ${resourceVersion}; waiting for the newer state to arrive.`,
      { retry: 'yes' },
    );
  }
}
