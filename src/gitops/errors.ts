import { CodedError } from '../base/errors.ts';

/** What came in is not a stream of manifests. `position` counts documents from 1. */
export class RenderInputError extends CodedError {
  constructor(position: number, what: string) {
    super('RENDER_INPUT', `Document ${position} of the input: ${what}. Nothing was written.`);
  }
}

/** Rendering nothing would look to Argo CD and Flux like a wish to delete everything. */
export class RenderEmptyError extends CodedError {
  constructor() {
    super(
      'RENDER_EMPTY',
      'The input has no manifest. Rendering nothing would prune everything, so this is a failure: look at the command ' +
        'that should have written the manifests.',
    );
  }
}
