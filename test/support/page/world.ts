// Something to look at: a month of a small platform, the same each time, as the query API serves it from memory.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { defaultKinds } from '../../../src/kinds/kinds.ts';
import type { ListOptions, ListPage, Resource } from '../../../src/kube/client.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import type { ReconcilerReport } from '../../../src/query/report-port.ts';
import type { ObjectRow } from '../../../src/storage/row.ts';
import { FakeKubeClient } from '../fake-kube-client.ts';
import { MemoryStorage } from '../memory-storage.ts';
import { kindNamed, rowOf } from '../objects.ts';
import { type QueryAppSetUp, queryApp } from '../query-app.ts';

const DAY = 86_400_000;
const MINUTE = 60_000;
const namespaces = ['fraud', 'search', 'ads'];
const pipelines = ['train-ranker', 'nightly-features', 'evaluate'];
const people = ['ada', 'grace', 'katherine', 'linus'];
const states = ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED', 'KILLED', 'SUCCEEDED', 'RUNNING'];
const algorithms = ['xgboost', 'transformer', 'two-tower', 'linear'];

/** The one whose value the number chooses. */
const pick = <T>(among: readonly T[], index: number): T => among[index % among.length] as T;

export interface PageWorld {
  readonly url: string;
  /** What its clock shows, always. */
  readonly now: number;
  readonly storage: MemoryStorage;
  readonly client: FakeKubeClient;
  stop(): void;
}

/** `others`: clusters beside the one that has the month. */
export async function startPageWorld(others: QueryAppSetUp['others'] = {}): Promise<PageWorld> {
  const now = Date.UTC(2026, 0, 31, 12);
  const storage = new MemoryStorage();
  const client = new PageKubeClient(now);
  const { app, clock } = queryApp({
    ...{ storage, client, others, report: () => report(now) },
    limits: { maxInFlight: 64, staleMs: 180_000 },
  });
  await clock.advance(now - clock.now().getTime());
  await fill(storage, now);
  client.run = (await storage.getByName(kindNamed('PipelineRun'), 'fraud', 'train-ranker-1197'))?.uid;
  const server: Server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { now, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, storage, client, stop };
}

/** Has events of one run. */
class PageKubeClient extends FakeKubeClient {
  /** Its uid. */
  run: string | undefined;
  readonly now: number;

  constructor(now: number) {
    super();
    this.now = now;
  }

  override list(resource: Resource, options: ListOptions): Promise<ListPage> {
    if (resource.plural !== 'events') return super.list(resource, options);
    const items = options.fieldSelector === `involvedObject.uid=${this.run}` ? runEvents(this.now) : [];
    return Promise.resolve({
      items: items.map((event) => asWatched(event)),
      resourceVersion: '1',
      continueToken: undefined,
    });
  }
}

function runEvents(now: number): readonly KubernetesObject[] {
  const event = (age: number, content: JsonObject): KubernetesObject => {
    const creationTimestamp = new Date(now - age).toISOString();
    const metadata = { namespace: 'fraud', name: `e${age}`, uid: `e${age}`, resourceVersion: '1', creationTimestamp };
    return { apiVersion: 'v1', kind: 'Event', metadata, ...content };
  };
  return [
    event(6 * MINUTE, {
      ...{ type: 'Warning', reason: 'TerminatingBlocked', count: 12 },
      message: 'admission webhook "owners.example" denied the request: every run names its owner',
    }),
    event(50 * MINUTE, { type: 'Normal', reason: 'Started', message: 'The run of train-ranker began.' }),
  ];
}

/** Three objects are stuck, one of which was never stored, and deletions of a namespace are held. */
function report(now: number): ReconcilerReport {
  const time = (age: number): string => new Date(now - age).toISOString();
  return {
    at: time(4000),
    count: 3,
    objects: [
      {
        ...{ kind: 'Model', namespace: 'fraud', name: 'ranker-v64', since: time(50 * MINUTE), attempts: 61 },
        code: 'KUBE_REFUSED',
        message: 'admission webhook "owners.example" denied the request: every model names its owner',
      },
      {
        ...{ kind: 'Pipeline', namespace: 'ads', name: 'evaluate', since: time(3 * MINUTE), attempts: 5 },
        code: 'ROW_REFUSED',
        message: 'MySQL refused the row: out of range. The object stays in the cluster and keeps its finalizer.',
      },
      {
        ...{ kind: 'Revision', namespace: 'ads', name: 'evaluate-13', since: time(2 * MINUTE), attempts: 1 },
        code: 'ROW_REFUSED',
        message: 'MySQL refused the row: too long. The object stays in the cluster and keeps its finalizer.',
      },
    ],
    unwatched: [],
    holds: [
      {
        ...{ kind: 'PipelineRun', namespace: 'search', since: time(25 * MINUTE) },
        because:
          'More than 100 objects of PipelineRun were to be deleted within a minute, most of them in the namespace search, ' +
          'where deletions are held. Nothing is lost; they wait. If it is meant: ingester resume PipelineRun.',
      },
    ],
  };
}

async function fill(storage: MemoryStorage, now: number): Promise<void> {
  const write = new Writer(storage, now);
  for (const namespace of namespaces) {
    await write.live('Project', namespace, namespace, 29 * DAY, {
      spec: { description: `All of ${namespace}`, tier: 2, owner: { owningTeam: `team-${namespace}` } },
    });
    await write.live('ModelFamily', namespace, 'ranker', 28 * DAY, { spec: { name: 'ranker' } });
    for (const [index, name] of pipelines.entries()) {
      const spec = { type: 'PIPELINE_TYPE_TRAIN', owner: { name: pick(people, index) } };
      await write.live('Pipeline', namespace, name, 28 * DAY, { spec, status: { state: 'PIPELINE_STATE_READY' } });
      await write.live('Revision', namespace, `${name}-12`, 20 * DAY, {
        spec: { baseResource: { namespace, name }, baseType: { kind: 'Pipeline' }, revisionId: '12' },
        status: { state: 'REVISION_STATE_READY' },
      });
    }
    const server = {
      spec: { backendType: 'BACKEND_TYPE_TRITON' },
      status: { state: 'INFERENCE_SERVER_STATE_SERVING' },
    };
    await write.live('InferenceServer', namespace, 'online', 14 * DAY, server);
  }
  for (let index = 0; index < 150; index += 1) await write.run(index);
  for (let index = 0; index < 64; index += 1) await write.model(index);
  for (const kind of defaultKinds) {
    const late = kind.kind === 'SparkJob' ? 9 * MINUTE : 8_000;
    await storage.recordPosition(kind, { resourceVersion: '9000', at: new Date(now - late) });
  }
}

type LiveObject = readonly [kind: string, namespace: string, name: string, age: number, content: JsonObject];

class Writer {
  readonly #storage: MemoryStorage;
  readonly #now: number;
  #count = 0;

  constructor(storage: MemoryStorage, now: number) {
    this.#storage = storage;
    this.#now = now;
  }

  /** `age`: in milliseconds before now. */
  async live(...[kind, namespace, name, age, content]: LiveObject): Promise<ObjectRow> {
    const row = this.#row({ kind, namespace, name, age, content });
    await this.#storage.upsert(row);
    return row;
  }

  /** A run every few hours; those older than a week are evicted, a few were deleted. */
  async run(index: number): Promise<void> {
    const namespace = pick(namespaces, index * 7);
    const pipeline = pick(pipelines, index * 5);
    const age = Math.round((index ** 1.15 * 30 * DAY) / 150 ** 1.15) + 7 * MINUTE;
    const state = index < 3 ? 'RUNNING' : pick(states, index * 11 + 3).replace('RUNNING', 'SUCCEEDED');
    const name = `${pipeline}-${String(1200 - index)}`;
    const row = this.#row({
      ...{ kind: 'PipelineRun', namespace, name, age },
      labels: { team: `team-${namespace}`, trigger: index % 4 === 0 ? 'manual' : 'nightly' },
      owner: { kind: 'Pipeline', name: pipeline },
      content: this.#runContent({ index, namespace, pipeline, state, age }),
    });
    if (index % 29 === 28) await this.#end(age - 3 * DAY, () => this.#storage.delete(row, this.#at(age - 3 * DAY)));
    else if (age < 7 * DAY) await this.#end(age - 30 * MINUTE, () => this.#storage.upsert(row));
    else await this.#evict(row, age - 2 * DAY);
  }

  async model(index: number): Promise<void> {
    const namespace = pick(namespaces, index * 7);
    const age = Math.round((index * 28 * DAY) / 64) + 40 * MINUTE;
    const run = `${pick(pipelines, index * 2 * 5)}-${String(1200 - index * 2)}`;
    const row = this.#row({
      ...{ kind: 'Model', namespace, name: `ranker-v${String(64 - index)}`, age },
      labels: { team: `team-${namespace}` },
      content: {
        spec: {
          algorithm: pick(algorithms, index * 3),
          trainingFramework: 'pytorch',
          revisionId: 64 - index,
          owner: { name: pick(people, index) },
          modelFamily: { namespace, name: 'ranker' },
          sourcePipelineRun: { namespace, name: run },
          description: `Ranks ${namespace} candidates.\nTrained on the last 90 days.`,
        },
      },
    });
    if (index > 20) await this.#evict(row, age - 2 * DAY);
    else await this.#end(age - 10 * MINUTE, () => this.#storage.upsert(row));
  }

  #runContent(run: {
    readonly index: number;
    readonly namespace: string;
    readonly pipeline: string;
    readonly state: string;
    readonly age: number;
  }): JsonObject {
    const { index, namespace, pipeline, state, age } = run;
    const ended = state !== 'RUNNING';
    const steps = ['load', 'train', 'evaluate', 'publish'].map((name, step) => {
      const last = step === (state === 'FAILED' ? 2 : 3);
      const failed = last && state !== 'SUCCEEDED';
      const begun = ended || step < 2;
      const done = ended || step === 0;
      return {
        ...{ name, displayName: name, state: `PIPELINE_RUN_STEP_STATE_${failed ? state : 'SUCCEEDED'}` },
        ...(begun ? { startTime: this.#time(age - step * 9 * MINUTE - MINUTE) } : {}),
        ...(done ? { endTime: this.#time(age - (step + 1) * 9 * MINUTE) } : {}),
      };
    });
    return {
      spec: {
        pipeline: { namespace, name: pipeline },
        revision: { namespace, name: `${pipeline}-12` },
        actor: { name: pick(people, index) },
        input: { kw_args: { days: 90, sample: 0.25, table: `${namespace}.clicks` } },
      },
      status: {
        state: `PIPELINE_RUN_STATE_${state}`,
        ...(ended ? { endTime: this.#time(age - 36 * MINUTE) } : {}),
        ...(state === 'FAILED' ? { errorMessage: 'evaluate: AUC 0.71 is below the floor of 0.74' } : {}),
        steps: state === 'FAILED' ? steps.slice(0, 3) : steps,
      },
    };
  }

  async #evict(row: ObjectRow, age: number): Promise<void> {
    await this.#storage.requestEviction(row, this.#at(age));
    await this.#end(age, () => this.#storage.finish(row, this.#at(age)));
  }

  /** The write, dated. */
  async #end(age: number, write: () => Promise<unknown>): Promise<void> {
    this.#storage.now = () => this.#at(Math.max(age, 8_000));
    await write();
  }

  #at(age: number): Date {
    return new Date(this.#now - Math.max(age, 0));
  }

  #time(age: number): string {
    return this.#at(age)
      .toISOString()
      .replace(/\.\d+Z/, 'Z');
  }

  #row(one: {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly age: number;
    readonly content: JsonObject;
    readonly labels?: Readonly<Record<string, string>>;
    readonly owner?: { readonly kind: string; readonly name: string };
  }): ObjectRow {
    const { kind, namespace, name, age, content, labels, owner } = one;
    this.#count += 1;
    this.#storage.now = () => this.#at(age);
    const uid = `00000000-0000-4000-8000-${String(this.#count).padStart(12, '0')}`;
    const references =
      owner === undefined
        ? {}
        : { ownerReferences: [{ apiVersion: 'michelangelo.api/v2', ...owner, uid: `${uid.slice(0, -3)}999` }] };
    const metadata = {
      ...{ name, namespace, uid, resourceVersion: String(8000 - this.#count), generation: 1 },
      creationTimestamp: this.#time(age),
      ...(labels === undefined ? {} : { labels }),
      ...references,
    };
    return rowOf({
      apiVersion: 'michelangelo.api/v2',
      kind: kindNamed(kind).kind,
      metadata,
      spec: {},
      ...content,
    });
  }
}
