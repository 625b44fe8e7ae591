// The models of the query API, as a client names them and gets them.

/** For kubectl. */
export const MODELS = 'models.stored.michelangelo.api';
export const PATH = '/apis/stored.michelangelo.api/v2';

export interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly namespace: string } }[];
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
}
