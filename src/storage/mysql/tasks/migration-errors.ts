import { CodedError } from '../../../base/errors.ts';

export class MigrationChangedError extends CodedError {
  constructor(name: string) {
    super(
      'MIGRATION_CHANGED',
      `Migration ${name} was applied, at least in part, with different content. Restore the file of the release that ` +
        'applied it; changes belong in a new migration.',
    );
  }
}

/** The tables in the database cannot become our schema without an operator's decision. Nothing was changed. */
export class AdoptionRefusedError extends CodedError {
  constructor(problems: readonly string[]) {
    super('ADOPTION_REFUSED', `The existing tables cannot be adopted; nothing was changed:\n${problems.join('\n')}`);
  }
}
