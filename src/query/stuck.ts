// What the reconciler cannot deal with, and why: what it told last, as far as the user may list it.
import type { KindDefinition } from '../api/kind.ts';
import type { Clock } from '../base/clock.ts';
import { messageForUsers } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { BoundedCache } from './bounded-cache.ts';
import { type Context, sendJson } from './context.ts';
import { QueryError } from './errors.ts';
import { warn } from './freshness.ts';
import { refuseParameters } from './list-request.ts';
import { STORED_GROUP_VERSION } from './names.ts';
import type { QueryAppOptions } from './options.ts';
import {
  REPORT_OLD_SECONDS,
  type ReconcilerReport,
  type ReportedHold,
  type ReportedObject,
  type UnwatchedKind,
} from './report-port.ts';

/** Of an answer; the reconciler tells no more than these. */
const MOST = 200;
/** It tells every five seconds. */
const KEEP_MS = 1000;

const UNWATCHED = 'The reconciler cannot watch this kind now. What changes is stored later, and deleted objects wait.';

interface Placed {
  readonly kind: KindDefinition;
  readonly namespace: string | undefined;
  readonly document: JsonObject;
}

export class Stuck {
  readonly #options: Pick<QueryAppOptions, 'kinds' | 'authorizer' | 'clock' | 'readReport'>;
  readonly #reports: BoundedCache<ReconcilerReport | undefined>;

  constructor(options: Pick<QueryAppOptions, 'kinds' | 'authorizer' | 'clock' | 'readReport'>) {
    this.#options = options;
    this.#reports = new BoundedCache({ clock: options.clock, capacity: 1, keepMs: KEEP_MS });
  }

  async answer(context: Context): Promise<void> {
    refuseParameters(context.query);
    const { authorizer, clock, readReport } = this.#options;
    const { time, user, response } = context;
    const report = await time.within(this.#reports.get('all', readReport, time.signal));
    if (report === undefined) {
      throw new QueryError('NotFound', 'nothing says which objects are stuck: no reconciler has run');
    }
    const objects = this.#placed(report.objects.slice(0, MOST), objectDocument);
    const holds = this.#placed(report.holds, holdDocument);
    const visible = new Set(
      await time.within(authorizer.listableAmong(user, [...objects, ...holds.slice(0, MOST)], time.signal)),
    );
    const unwatched = await this.#unwatchedOf(report.unwatched, context);
    if (visible.size === 0 && unwatched.length === 0) await this.#refuseStranger(context);
    const ageSeconds = ageOf(report, clock);
    if (ageSeconds > REPORT_OLD_SECONDS)
      warn(response, `the reconciler told last what is stuck ${Math.round(ageSeconds)} s ago`);
    const shown = (placed: readonly Placed[]): readonly Placed[] => placed.filter((each) => visible.has(each));
    const items = shown(objects).map(({ document }) => document);
    sendJson(context, {
      kind: 'StuckObjectList',
      apiVersion: STORED_GROUP_VERSION,
      at: report.at,
      ageSeconds,
      // How many there are of what the user may not list is not told.
      count: items.length === report.objects.length ? report.count : items.length,
      truncated: report.count > report.objects.length,
      items,
      heldDeletions: shown(holds).map(({ document }) => document),
      unwatchedKinds: unwatched,
    });
  }

  /** Those of kinds of which the user may list objects of some namespace at least. */
  async #unwatchedOf(unwatched: readonly UnwatchedKind[], { user, time }: Context): Promise<readonly JsonObject[]> {
    const { authorizer, kinds } = this.#options;
    const among = kinds.filter(({ kind }) => unwatched.some((each) => each.kind === kind));
    if (among.length === 0) return [];
    const listable = await time.within(authorizer.listable(user, among, time.signal));
    return among
      .filter((kind) => listable.kinds.has(kind))
      .map(({ kind, plural }) => {
        const since = unwatched.find((each) => each.kind === kind)?.since ?? '';
        return { kind, plural, since, message: UNWATCHED };
      });
  }

  /** For a user who may list nothing, an empty list would say that nothing is stuck. */
  async #refuseStranger({ user, time }: Context): Promise<void> {
    const { authorizer, kinds } = this.#options;
    const listable = await time.within(authorizer.listable(user, kinds, time.signal));
    if (listable.kinds.size === 0) throw new QueryError('Forbidden', `User "${user.name}" may list no kind`);
  }

  /** Without what is of a kind that is not served. */
  #placed<T extends { readonly kind: string; readonly namespace?: string }>(
    told: readonly T[],
    documentOf: (one: T, kind: KindDefinition) => JsonObject,
  ): readonly Placed[] {
    return told.flatMap((one) => {
      const kind = this.#options.kinds.find((each) => each.kind === one.kind);
      return kind === undefined ? [] : [{ kind, namespace: one.namespace, document: documentOf(one, kind) }];
    });
  }
}

function ageOf({ at }: ReconcilerReport, clock: Clock): number {
  return Math.max(0, Math.round((clock.now().getTime() - Date.parse(at)) / 100) / 10);
}

function objectDocument(
  { namespace, name, since, attempts, code, message }: ReportedObject,
  { kind, plural }: KindDefinition,
): JsonObject {
  return { kind, plural, namespace, name, since, attempts, code, message: messageForUsers(code, message) };
}

function holdDocument({ namespace, since, because }: ReportedHold, { kind, plural }: KindDefinition): JsonObject {
  return { kind, plural, ...(namespace === undefined ? {} : { namespace }), since, message: because };
}
