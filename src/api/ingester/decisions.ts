// The annotations by which users decide on a change that waits for an approval.
import {
  APPROVE_UPGRADE_ANNOTATION,
  APPROVED_BY_ANNOTATION,
  REJECT_UPGRADE_ANNOTATION,
  REJECTED_BY_ANNOTATION,
} from '../names.ts';

export interface Decision {
  /** Its value is the token of the request. */
  readonly token: string;
  /** Its value is the user who set the token. */
  readonly by: string;
}

export const approval: Decision = { token: APPROVE_UPGRADE_ANNOTATION, by: APPROVED_BY_ANNOTATION };
export const rejection: Decision = { token: REJECT_UPGRADE_ANNOTATION, by: REJECTED_BY_ANNOTATION };
export const decisions: readonly Decision[] = [approval, rejection];
