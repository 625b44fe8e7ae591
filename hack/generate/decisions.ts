// Which updates of an Ingester decide on a change that waits for an approval, in the expression language of the API server.
import { type Decision, decisions } from '../../src/api/ingester/decisions.ts';

export function annotation(object: 'object' | 'oldObject', name: string): string {
  return `${object}.metadata.?annotations[?"${name}"].orValue("")`;
}

export function brings({ token }: Decision): string {
  return `(${annotation('object', token)} != "" && ${annotation('object', token)} != ${annotation('oldObject', token)})`;
}

/** Only these updates get the name of their user. */
export const bringsDecision: { readonly name: string; readonly expression: string } = {
  name: 'brings-a-decision',
  expression: decisions.map(brings).join(' || '),
};
