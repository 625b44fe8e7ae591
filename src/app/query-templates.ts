// The named queries of this installation: those that are shipped and those of the configuration.
import { ConfigurationError } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import { QueryTemplateInvalidError } from '../storage/errors.ts';
import { QueryTemplates } from '../storage/query-templates.ts';
import { kindsOf } from './kinds.ts';

/** Throws a ConfigurationError with everything that is wrong in any template, each with its path in the file. */
export function queryTemplates(configuration: Configuration): QueryTemplates {
  try {
    return new QueryTemplates(kindsOf(configuration), configuration.query.templates);
  } catch (error) {
    if (!(error instanceof QueryTemplateInvalidError)) throw error;
    const errors = error.errors.map(({ path, message }) => ({ path: `query.templates${path}`, message }));
    throw new ConfigurationError('the query templates', errors);
  }
}
