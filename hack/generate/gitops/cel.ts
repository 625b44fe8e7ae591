// Health checks of Flux: CEL over the fields of the object. Flux looks at inProgress, then failed, then current; an
// expression that cannot be evaluated, as while an object has no status at all, counts as not ready yet. Kinds that are
// healthy without a status have no expressions: Flux takes what has no conditions as current.
import { INGESTER_GROUP, INGESTER_KIND, INGESTER_VERSION } from '../../../src/api/ingester/spec.ts';
import { GROUP, VERSION } from '../../../src/api/names.ts';
import { conditionRules, type Health, type HealthRule, healthRules } from './health.ts';

export interface HealthCheckExpression {
  readonly apiVersion: string;
  readonly kind: string;
  readonly inProgress: string;
  readonly failed: string;
  readonly current: string;
}

const apiVersionOf = (kind: string): string =>
  kind === INGESTER_KIND ? `${INGESTER_GROUP}/${INGESTER_VERSION}` : `${GROUP}/${VERSION}`;
const text = (value: string): string => `'${value}'`;

export function healthCheckExpressions(): readonly HealthCheckExpression[] {
  return [
    ...healthRules.filter(({ without }) => without !== 'Healthy').map(ofState),
    ...conditionRules
      .filter(({ without }) => without !== 'Healthy')
      .map(({ kind, conditions }) => {
        const holds = (wanted: readonly Health[]): string => {
          const types = conditions.filter(({ health }) => wanted.includes(health)).map(({ type }) => text(type));
          return `has(status.statusConditions) && status.statusConditions.exists(c, c.type in [${types.join(', ')}] && c.status == 'CONDITION_STATUS_TRUE')`;
        };
        return {
          apiVersion: apiVersionOf(kind),
          kind,
          inProgress: `!(${holds(['Degraded', 'Healthy', 'Suspended'])})`,
          failed: holds(['Degraded']),
          current: holds(['Healthy', 'Suspended']),
        };
      }),
  ];
}

function ofState({ kind, field, prefix, states }: HealthRule): HealthCheckExpression {
  const among = (...wanted: readonly Health[]): string => {
    const values = Object.entries(states).filter(([, health]) => wanted.includes(health));
    return `status.${field} in [${values.map(([name]) => text(prefix + name)).join(', ')}]`;
  };
  return {
    // Only the group counts for Flux.
    apiVersion: apiVersionOf(kind),
    kind,
    inProgress: `!has(status.${field}) || ${among('Progressing')}`,
    failed: among('Degraded'),
    current: among('Healthy', 'Suspended'),
  };
}
