// The query API over objects in memory, for the user that the test names.
import type { Express } from 'express';
import request from 'supertest';
import { createQueryWrites } from '../../src/app/query/query-writes.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { createQueryApp } from '../../src/query/app.ts';
import type { Access } from '../../src/query/authorize.ts';
import type { User } from '../../src/query/context.ts';
import { QueryError } from '../../src/query/errors.ts';
import type { AnsweredRequest, ClusterParts, QueryLimits } from '../../src/query/options.ts';
import type { ReconcilerReport } from '../../src/query/report-port.ts';
import { QueryTemplates } from '../../src/storage/query-templates.ts';
import { maskedValues } from '../../src/storage/sensitive.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryStorage } from './memory-storage.ts';
import { aModelRow } from './objects.ts';
import { RecordingLogger } from './recording-logger.ts';

export const base = '/apis/stored.michelangelo.api/v2';
const at = new Date('2026-01-01T00:00:00Z');

export interface QueryAppSetUp {
  /** Namespaces the user may use; all where it is missing. */
  readonly allowed?: readonly string[];
  /** Verbs that are refused. */
  readonly denied?: readonly Access['verb'][];
  readonly limits?: Partial<QueryLimits>;
  readonly client?: KubeClient;
  readonly storage?: MemoryStorage;
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly others?: Readonly<Record<string, OtherSetUp>>;
  /** Whether the user may list events; the user may, unless it says otherwise. */
  readonly events?: 'readable' | 'forbidden';
  /** What the reconciler told last; nothing unless given. */
  readonly report?: () => ReconcilerReport | undefined;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface QueryAppUnderTest {
  readonly storage: MemoryStorage;
  readonly logger: RecordingLogger;
  readonly clock: FakeClock;
  readonly app: Express;
  /** What the metrics are told of. */
  readonly counted: AnsweredRequest[];
  readonly get: (path: string, accept?: string) => Promise<Answered>;
  readonly post: (path: string, body: object | string, type?: string) => Promise<Answered>;
  readonly del: (path: string, body?: object) => Promise<Answered>;
  readonly patch: (path: string, body: object | string, type?: string) => Promise<Answered>;
}

/** Another cluster of the query API. */
export interface OtherSetUp extends Pick<QueryAppSetUp, 'allowed' | 'denied' | 'client'> {
  readonly storage: MemoryStorage;
  readonly isRetired?: boolean;
  /** The users that were asked about. */
  readonly asked?: User[];
}

export function queryApp(setUp: QueryAppSetUp = {}): QueryAppUnderTest {
  const { limits = {}, storage = new MemoryStorage(), user = 'alice', groups = [], others = {} } = setUp;
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const counted: AnsweredRequest[] = [];
  const app = createQueryApp({
    ...partsOf({ ...setUp, storage }, clock),
    others: new Map(
      Object.entries(others).map(([name, other]) => {
        return [name, { ...partsOf(other, clock), isRetired: other.isRetired ?? false }] as const;
      }),
    ),
    kinds: defaultKinds,
    templates: new QueryTemplates(defaultKinds),
    authenticator: { authenticate: () => Promise.resolve({ name: user, uid: 'u', groups, extra: { scopes: ['x'] } }) },
    clock,
    logger,
    limits: {
      ...{ firstMs: 1000, wholeMs: 60_000, maxInFlight: 4, userPerSecond: 0, userBurst: 1, staleMs: 60_000 },
      ...limits,
    },
    onAnswered: (answer) => counted.push(answer),
  });
  const answered = (answer: request.Response): Answered => ({
    status: answer.status,
    text: answer.text,
    headers: answer.headers,
    body: answer.body as unknown,
  });
  const get: QueryAppUnderTest['get'] = async (path, accept = 'application/json') =>
    answered(await request(app).get(`${base}${path}`).set('Accept', accept));
  const post: QueryAppUnderTest['post'] = async (path, body, type = 'application/json') =>
    answered(await request(app).post(`${base}${path}`).set('Content-Type', type).send(body));
  const del: QueryAppUnderTest['del'] = async (path, body = {}) =>
    answered(await request(app).delete(`${base}${path}`).send(body));
  const patch: QueryAppUnderTest['patch'] = async (path, body, type = 'application/merge-patch+json') =>
    answered(
      await request(app)
        .patch(`${base}${path}`)
        .set('Content-Type', type)
        .send(typeof body === 'string' ? body : JSON.stringify(body)),
    );
  return { storage, logger, clock, app, counted, get, post, del, patch };
}

function partsOf(
  { allowed, denied = [], client, storage, report, events = 'readable', asked = [] }: QueryAppSetUp & OtherSetUp,
  clock: FakeClock,
): ClusterParts {
  const kube = client ?? ({} as KubeClient);
  const mayUse = ({ verb, namespace = '' }: Access): boolean =>
    !denied.includes(verb) && (allowed === undefined || allowed.includes(namespace));
  return {
    storage,
    client: kube,
    writes: createQueryWrites({ client: kube, storage, sensitive: maskedValues, clock, encode: encodeObject }),
    authorizer: {
      require: (user, access) => {
        asked.push(user);
        return mayUse(access) ? Promise.resolve() : Promise.reject(new QueryError('Forbidden', `no ${access.verb}`));
      },
      requireEvents: (_user, namespace) =>
        events === 'readable'
          ? Promise.resolve()
          : Promise.reject(new QueryError('Forbidden', `no events in ${namespace}`)),
      listableNamespaces: (user) => {
        asked.push(user);
        return allowed?.length === 0 ? Promise.reject(new QueryError('Forbidden', 'no')) : Promise.resolve(allowed);
      },
      listable: (_user, kinds) => {
        const among = allowed ?? 'all';
        return Promise.resolve({
          kinds: new Map(among.length === 0 ? [] : kinds.map((kind) => [kind, among])),
          leftOut: 0,
        });
      },
      listableAmong: (_user, items) =>
        Promise.resolve(
          items.filter(
            ({ namespace }) => allowed === undefined || (namespace !== undefined && allowed.includes(namespace)),
          ),
        ),
    },
    readReport: () => Promise.resolve(report?.()),
  };
}

/** m1 and m3 are live, m2 is evicted, m4 is deleted; m1 is the oldest. */
export async function fill(storage: MemoryStorage): Promise<void> {
  const row = (number: number, namespace: string) =>
    aModelRow(
      {
        uid: `uid-${number}`,
        name: `m${number}`,
        namespace,
        resourceVersion: String(number),
        creationTimestamp: `2025-12-31T00:00:0${number}Z`,
        labels: { team: number % 2 === 0 ? 'even' : 'odd' },
      },
      { owner: { name: number < 3 ? 'ada' : 'bob' } },
    );
  await storage.upsert(row(1, 'a'));
  await storage.requestEviction(row(2, 'a'), at);
  await storage.finish(row(2, 'a'), at);
  await storage.upsert(row(3, 'b'));
  await storage.delete(row(4, 'b'), at);
}

export interface Listed {
  readonly kind: string;
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number };
}

export const namesIn = (body: unknown): readonly string[] =>
  (body as Listed).items.map(({ metadata }) => metadata.name);
export const messageIn = (body: unknown): string => (body as { readonly message: string }).message;
