import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ListOptions, ListPage } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { asWatched, type WatchedObject } from '../../../src/kube/watched-object.ts';
import { StrandedDeletions } from '../../../src/sync/startup/stranded-deletions.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aModel, kindNamed, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const MiB = 1024 * 1024;
const gone = { deletionTimestamp: '2026-01-03T00:00:00Z' };
const signal = new AbortController().signal;

/** Answers every list of a kind from a script. */
class Lists {
  readonly asked: (readonly [string, string | undefined])[] = [];
  answer: (plural: string, page: number) => Partial<ListPage> | KubeError = () => ({});

  list({ plural }: { plural: string }, { continueToken }: ListOptions): Promise<ListPage> {
    this.asked.push([plural, continueToken]);
    const answer = this.answer(plural, Number(continueToken ?? 0));
    if (answer instanceof KubeError) return Promise.reject(answer);
    return Promise.resolve({ items: [], resourceVersion: '1', continueToken: undefined, ...answer });
  }
}

function setUp() {
  const client = new Lists();
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  const told: string[] = [];
  const counts: [string, number][] = [];
  const kinds = [modelKind, kindNamed('Project')].map((kind) => {
    return { kind, resource: { group: 'michelangelo.api', version: 'v2', plural: kind.plural } };
  });
  const stranded = new StrandedDeletions({
    client,
    kinds,
    because: 'metadata storage is off',
    onStranded: ({ kind }, { metadata }) => told.push(`${kind} ${metadata.name}`),
    onCounted: ({ kind }, count) => counts.push([kind, count]),
    clock,
    logger,
  });
  return { client, clock, logger, stranded, told, counts, look: () => stranded.look(signal) };
}

const models = (count: number): readonly WatchedObject[] =>
  Array.from({ length: count }, (_, index) => asWatched(aModel({ name: `m${index}`, ...gone })));

describe('deletions that no reconciler finishes', () => {
  it('are guarded objects that are being deleted, and no others', async () => {
    const { client, told, counts, look } = setUp();
    const items = [
      asWatched(aModel({ name: 'waits', ...gone })),
      asWatched(aModel({ name: 'lives' })),
      asWatched(aModel({ ...gone, finalizers: ['a/b'] })),
    ];
    client.answer = (plural) => (plural === 'models' ? { items } : {});
    await look();
    assert.deepEqual(
      [told, counts],
      [
        ['Model waits'],
        [
          ['Model', 1],
          ['Project', 0],
        ],
      ],
    );
  });

  it('are all counted, and a hundred of a kind told of', async () => {
    const { client, told, counts, look } = setUp();
    client.answer = (plural, page) =>
      plural === 'models' ? { items: models(60), continueToken: page < 3 ? String(page + 1) : undefined } : {};
    await look();
    assert.deepEqual([told.length, counts[0]], [100, ['Model', 240]]);
  });

  it('are looked for in lists of at most a hundred pages or 32 MiB; the next look goes on there', async () => {
    for (const [bytes, pages] of [
      [1, 100],
      [8 * MiB, 4],
    ] as const) {
      const { client, counts, look } = setUp();
      client.answer = (plural, page) =>
        plural === 'models'
          ? { bytes, items: models(1), continueToken: page < 150 ? String(page + 1) : undefined }
          : {};
      await look();
      assert.equal(client.asked.length, pages);
      assert.deepEqual(counts, []);
      await look();
      assert.deepEqual(client.asked[pages], ['models', String(pages)]);
      while (counts.length < 2) await look();
      assert.deepEqual(counts, [
        ['Model', 151],
        ['Project', 0],
      ]);
    }
  });

  it('of one kind are found though another is not installed', async () => {
    const { client, counts, look } = setUp();
    client.answer = (plural) =>
      plural === 'models' ? new KubeError('NotFound', 'no') : { items: [asWatched(aModel(gone))] };
    await look();
    assert.deepEqual(counts, [
      ['Model', 0],
      ['Project', 1],
    ]);
  });

  it('are looked for from the beginning after the API server has failed', async () => {
    const { client, counts, look } = setUp();
    client.answer = (plural) => (plural === 'models' ? {} : new KubeError('Unavailable', 'away'));
    await assert.rejects(look(), /away/);
    client.answer = () => ({});
    await look();
    assert.deepEqual(counts, [
      ['Model', 0],
      ['Model', 0],
      ['Project', 0],
    ]);
  });

  it('are looked for every 30 seconds; a change of their number is logged, and an API server that fails once', async () => {
    const { client, clock, logger, stranded } = setUp();
    const stop = new AbortController();
    client.answer = (plural) => (plural === 'models' ? { items: models(2) } : {});
    const running = stranded.run(stop.signal);
    await clock.advance(0);
    await clock.advance(30_000);
    const waits = logger.lines.filter(({ message }) => message.startsWith('Objects that are being deleted wait'));
    assert.deepEqual(
      waits.map(({ level, kind, count }) => [level, kind, count]),
      [['warn', 'Model', 2]],
    );
    client.answer = () => new KubeError('Unavailable', 'away');
    await clock.advance(60_000);
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 2);
    client.answer = () => ({});
    await clock.advance(30_000);
    const last = logger.lines.findLast(({ count }) => count !== undefined);
    assert.deepEqual([last?.level, last?.['count']], ['info', 0]);
    stop.abort();
    await running;
  });
});
