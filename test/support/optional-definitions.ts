// Of the definitions that the Gateway API and the Prometheus operator publish: what they require, allow and bound of what
// is used here. A field that is not theirs is dropped, as by theirs.
const words = (maxLength: number, pattern?: string): object => ({
  type: 'string',
  minLength: 1,
  maxLength,
  ...(pattern === undefined ? {} : { pattern }),
});
const objectOf = (properties: object, ...required: readonly string[]): object => ({
  type: 'object',
  properties,
  required,
});
const listOf = (items: object, maxItems: number): object => ({ type: 'array', items, maxItems });
const port = { type: 'integer', format: 'int32', minimum: 1, maximum: 65_535 };
const pathMatch = objectOf({
  type: { type: 'string', enum: ['Exact', 'PathPrefix', 'RegularExpression'], default: 'PathPrefix' },
  value: { type: 'string', maxLength: 1024, default: '/' },
});
const backendRef = objectOf({ name: words(253), port, weight: { type: 'integer', default: 1 } }, 'name');
export const httpRouteSpec = objectOf({
  hostnames: listOf(words(253, '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'), 16),
  parentRefs: listOf(objectOf({ name: words(253), namespace: words(63), sectionName: words(253) }, 'name'), 32),
  rules: listOf(
    objectOf({ matches: listOf(objectOf({ path: pathMatch }), 64), backendRefs: listOf(backendRef, 16) }),
    16,
  ),
});
const requirement = objectOf(
  { key: { type: 'string' }, operator: { type: 'string' }, values: listOf({ type: 'string' }, 100) },
  'key',
  'operator',
);
const selector = objectOf({
  matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
  matchExpressions: listOf(requirement, 100),
});
const interval = {
  type: 'string',
  pattern: '^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$',
};
const endpoint = objectOf({ port: { type: 'string' }, path: { type: 'string' }, interval });
export const serviceMonitorSpec = objectOf(
  { jobLabel: { type: 'string' }, selector, endpoints: listOf(endpoint, 100) },
  'selector',
  'endpoints',
);
