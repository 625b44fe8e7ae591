// Whatever is written, in whatever order: a living object has the finalizer unless a user who may delete it opted it out,
// nothing is being deleted that was not deleted, and no version went back without naming the step. The writes are drawn
// from a seed, sent to the real API server one by one, and what is stored is looked at after each.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import {
  ALLOW_DOWNGRADE_ANNOTATION,
  DELETING_ANNOTATION,
  FINALIZER,
  GROUP,
  IMMUTABLE_ANNOTATION,
  UNGUARDED_ANNOTATION,
} from '../../src/api/names.ts';
import { hasFinalizer, isOptedOut, type KubernetesObject } from '../../src/api/object.ts';
import { valueAt } from '../../src/base/json.ts';
import { type ApiCall, contentTypes, pathOf } from '../support/api-server.ts';
import { inBothVariants, OWNER, RECONCILER, WRITER } from '../support/both-variants.ts';
import { kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

const SEED = Number(process.env['WRITES_SEED'] ?? 20);
const WRITES = Number(process.env['WRITES'] ?? 250);

/** The versioned field of each kind, and the order of the values that have one. */
const subjects = [
  { kind: 'Model', field: 'revisionId', nothing: '0', values: [-7, -1, 0, 1, 5, 2_000_000_000] },
  {
    ...{ kind: 'RayCluster', field: 'rayVersion', nothing: 'none' },
    values: ['2.8.1', 'v2.9.0-rc1', '2.9.0', '10.0.0', 'nightly', ' 2.8.1', '2.9', '2.09.0'],
  },
] as const;
const ORDERED = ['2.8.1', 'v2.9.0-rc1', '2.9.0', '10.0.0'];
const names = ['a', 'b', 'c', 'd'];

/** One in so many: a write that everything is wrong with is refused for the first of it, and shows nothing of the rest. */
function rarely<T>(value: fc.Arbitrary<T>, oneIn: number): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
}

const anyMetadata = fc.record({
  finalizers: rarely(fc.constantFrom(null, [], [FINALIZER], ['example.com/a'], ['example.com/a', FINALIZER]), 2),
  annotations: rarely(
    fc.dictionary(
      fc.constantFrom(UNGUARDED_ANNOTATION, DELETING_ANNOTATION, IMMUTABLE_ANNOTATION, ALLOW_DOWNGRADE_ANNOTATION),
      fc.constantFrom('true', 'false', '', '1', 'nightly', '2.8.1'),
      { noNullPrototype: true, maxKeys: 2 },
    ),
    2,
  ),
  deletionTimestamp: rarely(fc.constantFrom('1999-01-01T00:00:00Z', null), 8),
  deletionGracePeriodSeconds: rarely(fc.constant(0), 16),
  generation: rarely(fc.constant(7), 16),
  uid: rarely(fc.constant('00000000-0000-4000-8000-000000000000'), 16),
});

const writes = fc.record({
  subject: fc.constantFrom(...subjects),
  name: fc.constantFrom(...names),
  as: fc.constantFrom(OWNER, WRITER),
  verb: fc.constantFrom(
    ...(['create', 'create', 'generate', 'replace', 'replace', 'merge', 'merge', 'json', 'strategic'] as const),
    ...(['apply', 'apply', 'apply', 'delete', 'remove-finalizer', 'remove-finalizer'] as const),
  ),
  subresource: fc.constantFrom('', '', '', '', '', '', '/status', '/scale'),
  query: fc.constantFrom('', '', '', 'dryRun=All'),
  metadata: anyMetadata,
  value: rarely(fc.nat(), 2),
  manager: fc.constantFrom('one', 'two'),
});
type Write = typeof writes extends fc.Arbitrary<infer T> ? T : never;

inBothVariants('random writes', ({ admission, namespace }) => {
  const call = async (request: ApiCall): Promise<number> => (await admission().api.call(request)).status;

  it(`random writes leave no object unguarded and no version gone back (seed ${SEED}, ${WRITES} writes)`, async (context) => {
    // A kind that was installed a moment ago may not be served yet.
    let before = await eventually(stored);
    const statuses = new Map<string, number>();
    for (const write of fc.sample(writes, { seed: SEED, numRuns: WRITES })) {
      const request = await requestOf(write);
      const status = await call(request);
      const outcome = `${write.verb} ${status}`;
      statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
      const after = await stored();
      const what = `${write.as}: ${request.method} ${request.path} ${JSON.stringify(request.body)} -> ${status}`;
      for (const object of after.values()) check(object, before.get(object.metadata.uid), { write, what });
      before = after;
    }
    context.diagnostic([...statuses].map(([outcome, count]) => `${outcome}: ${count}`).join(', '));
    // A run in which everything is refused, or nothing, would show nothing.
    for (const expected of [
      'create 201',
      'apply 201',
      'apply 403',
      'merge 200',
      'merge 403',
      'replace 200',
      'delete 200',
    ]) {
      assert.ok(statuses.has(expected), `no ${expected}`);
    }
  });

  /** All objects by uid. */
  async function stored(): Promise<ReadonlyMap<string, KubernetesObject>> {
    const lists = await Promise.all(
      subjects.map((subject) => admission().api.must({ method: 'GET', path: pathOf(kind(subject.kind), namespace) })),
    );
    const items = lists.flatMap((list, index) =>
      (list['items'] as unknown as KubernetesObject[]).map((item) => ({ ...item, kind: subjects[index]?.kind ?? '' })),
    );
    return new Map(items.map((item) => [item.metadata.uid, item]));
  }

  async function requestOf(write: Write): Promise<ApiCall> {
    const { subject, name, as } = write;
    const collection = pathOf(kind(subject.kind), namespace);
    const { body } = await admission().api.call({ method: 'GET', path: `${collection}/${name}` });
    const stored = valueAt(body, ['metadata', 'resourceVersion']);
    const resourceVersion = typeof stored === 'string' ? { resourceVersion: stored } : {};
    return {
      ...shapes[write.verb]({ write, collection, resourceVersion }),
      as: write.verb === 'remove-finalizer' ? RECONCILER : as,
    };
  }
});

interface Shaping {
  readonly write: Write;
  readonly collection: string;
  /** Of the object that has the name now, where there is one. */
  readonly resourceVersion: object;
}

/** How each verb says what is to be written. */
const shapes: Readonly<Record<Write['verb'], (shaping: Shaping) => ApiCall>> = {
  create: ({ write, collection }) => ({ method: 'POST', path: collection + end(write), body: whole(write) }),
  generate: ({ write, collection }) => {
    const metadata = { ...write.metadata, generateName: 'g-' };
    return { method: 'POST', path: collection + end(write), body: { ...contentOf(write), metadata } };
  },
  replace: ({ write, collection, resourceVersion }) => {
    const metadata = { ...withoutUid(write.metadata), name: write.name, ...resourceVersion };
    return { method: 'PUT', path: at(collection, write), body: { ...contentOf(write), metadata } };
  },
  merge: ({ write, collection }) => {
    const body = { ...contentOf(write), metadata: withoutUid(write.metadata) };
    return { method: 'PATCH', path: at(collection, write), body, contentType: contentTypes.merge };
  },
  json: ({ write, collection }) => {
    const metadata = Object.entries(withoutUid(write.metadata)).filter(([, value]) => value !== undefined);
    const spec = valueAt(contentOf(write), ['spec']);
    const body = [
      ...metadata.map(([key, value]) => ({ op: 'add', path: `/metadata/${key}`, value })),
      ...(spec === undefined ? [] : [{ op: 'add', path: '/spec', value: spec }]),
    ];
    return { method: 'PATCH', path: at(collection, write), body, contentType: contentTypes.json };
  },
  strategic: ({ write, collection }) => {
    const contentType = 'application/strategic-merge-patch+json';
    return { method: 'PATCH', path: at(collection, write), body: whole(write), contentType };
  },
  apply: ({ write, collection }) => {
    const query = [`fieldManager=${write.manager}`, 'force=true', ...(write.query === '' ? [] : [write.query])];
    const path = `${collection}/${write.name}${write.subresource}?${query.join('&')}`;
    const metadata = { ...withoutUid(write.metadata), name: write.name };
    return { method: 'PATCH', path, body: { ...contentOf(write), metadata }, contentType: contentTypes.apply };
  },
  delete: ({ write, collection }) => ({ method: 'DELETE', path: `${collection}/${write.name}${end(write)}` }),
  'remove-finalizer': ({ write, collection }) => {
    const path = `${collection}/${write.name}`;
    return { method: 'PATCH', path, body: removalBody, contentType: contentTypes.json };
  },
};

/** As the reconciler does: only what is being deleted loses its finalizers. */
const removalBody = [
  { op: 'test', path: '/metadata/deletionGracePeriodSeconds', value: 0 },
  { op: 'remove', path: '/metadata/finalizers' },
];

function at(collection: string, write: Write): string {
  return `${collection}/${write.name}${write.subresource}${end(write)}`;
}

function end({ query }: Write): string {
  return query === '' ? '' : `?${query}`;
}

function contentOf({ subject, value }: Write): object {
  const chosen = value === undefined ? undefined : subject.values[value % subject.values.length];
  const spec = chosen === undefined ? {} : { spec: { [subject.field]: chosen } };
  return { apiVersion: `${GROUP}/v2`, kind: subject.kind, ...spec, status: { state: 'x' } };
}

function whole(write: Write): object {
  return { ...contentOf(write), metadata: { ...write.metadata, name: write.name } };
}

function withoutUid({ uid: _uid, ...rest }: Write['metadata']): Omit<Write['metadata'], 'uid'> {
  return rest;
}

interface Cause {
  readonly write: Write;
  readonly what: string;
}

function check(object: KubernetesObject, before: KubernetesObject | undefined, cause: Cause): void {
  checkLife(object, before, cause);
  checkVersion(object, before, cause);
}

function checkLife({ metadata }: KubernetesObject, before: KubernetesObject | undefined, { write, what }: Cause): void {
  if (metadata.deletionTimestamp !== undefined) {
    assert.ok(before !== undefined, `born deleting by ${what}`);
    assert.ok(before.metadata.deletionTimestamp !== undefined || write.verb === 'delete', `deleted by ${what}`);
    return;
  }
  const optedOut = isOptedOut({ metadata });
  if (optedOut && !(before !== undefined && isOptedOut(before))) assert.equal(write.as, OWNER, `opted out by ${what}`);
  assert.ok(hasFinalizer({ metadata }) || (optedOut && before !== undefined), `unguarded by ${what}`);
}

function checkVersion(object: KubernetesObject, before: KubernetesObject | undefined, { what }: Cause): void {
  const subject = subjects.find((each) => each.kind === object.kind);
  if (subject === undefined || before === undefined || before.metadata.deletionTimestamp !== undefined) return;
  const [from, to] = [before, object].map((each) => valueAt(each, ['spec', subject.field]));
  if (!isStepBack(from, to)) return;
  const target = typeof to === 'number' || typeof to === 'string' ? String(to) : subject.nothing;
  const permits = (object.metadata.annotations?.[ALLOW_DOWNGRADE_ANNOTATION] ?? '').split(',');
  assert.ok(permits.includes(target), `${JSON.stringify(from)} to ${JSON.stringify(to)} by ${what}`);
}

/** To something older, and from something with an order to something without. */
function isStepBack(from: unknown, to: unknown): boolean {
  if (typeof (from ?? to) === 'number') return Number(to ?? 0) < Number(from ?? 0);
  const [left, right] = [ORDERED.indexOf(String(from)), ORDERED.indexOf(String(to))];
  return left >= 0 && right < left;
}
