import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Place } from '../../../src/api/place.ts';
import { allKinds } from '../../../src/kinds/kinds.ts';
import type { ListOptions } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import type { ListQuery } from '../../../src/storage/list-query.ts';
import { ClusterCensus } from '../../../src/sync/admission/lookups.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aModel } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const { signal } = new AbortController();
const never = new Promise<never>(() => undefined);

describe('finding out whether a kind has objects', () => {
  const resource = { group: 'michelangelo.api', plural: 'models', version: 'v2' };

  function census(inCluster: number, archived?: number | Error, clock: FakeClock = new FakeClock()) {
    const asked: unknown[] = [];
    const list = (...args: unknown[]) => {
      asked.push(args.slice(0, 2));
      const items = Array.from({ length: inCluster }, () => asWatched(aModel()));
      return Promise.resolve({ items, resourceVersion: '1', continueToken: undefined });
    };
    const rows = (_kind: unknown, query: ListQuery) => {
      asked.push(query);
      if (archived instanceof Error) return Promise.reject(archived);
      const items = Array.from({ length: archived ?? 0 }, () => ({}) as never);
      return Promise.resolve({ items, continue: undefined, total: undefined });
    };
    const storage = archived === undefined ? undefined : () => Promise.resolve({ list: rows });
    const logger = new RecordingLogger();
    const client = () => Promise.resolve({ list });
    return { asked, logger, census: new ClusterCensus({ kinds: allKinds, client, storage, clock, logger }) };
  }

  it('answers "some" where the cluster has an object, and does not ask the database', async () => {
    const { census: subject, asked } = census(1, 0);
    assert.equal(await subject.hasObjects(resource, signal), 'some');
    assert.deepEqual(asked, [
      [
        { group: 'michelangelo.api', version: 'v2', plural: 'models' },
        { limit: 1, metadataOnly: true },
      ],
    ]);
  });

  it('answers "some" where only a row is left, and "none" where there is neither', async () => {
    assert.equal(await census(0, 1).census.hasObjects(resource, signal), 'some');
    assert.equal(await census(0, 0).census.hasObjects(resource, signal), 'none');
  });

  it('answers "unknown" for archived objects without a database', async () => {
    assert.equal(await census(0).census.hasObjects(resource, signal), 'unknown');
    assert.equal(await census(1).census.hasObjects(resource, signal), 'some');
  });

  it('needs no database for kinds that are never copied', async () => {
    assert.equal(
      await census(0).census.hasObjects(
        { group: 'ingester.michelangelo.api', plural: 'ingesters', version: 'v1' },
        signal,
      ),
      'none',
    );
  });

  it('finds the places at which an object has a value, in lists and maps too, on whatever page it is', async () => {
    const objects = [
      { spec: { a: null } },
      { spec: { list: [{ x: 1 }, { y: [] }], map: { one: {}, two: { z: 'z' } }, text: 'spec' } },
    ].map((more) => asWatched({ ...aModel(), ...more }));
    const list = (_resource: unknown, { continueToken = '0' }: ListOptions) => {
      const at = Number(continueToken);
      const next = at + 1 < objects.length ? String(at + 1) : undefined;
      return Promise.resolve({ items: objects.slice(at, at + 1), resourceVersion: '1', continueToken: next });
    };
    const options = { kinds: allKinds, storage: undefined, clock: new FakeClock(), logger: new RecordingLogger() };
    const subject = new ClusterCensus({ ...options, client: () => Promise.resolve({ list }) });
    const place = (...keys: readonly string[]): Place => keys.map((key) => (key === '*' ? 'each' : { key }));
    const held = [
      ...[place('spec', 'a'), place('spec', 'list', '*', 'y'), place('spec', 'map', '*', 'z'), place()],
      ...[place('spec', 'list', '*'), place('metadata', 'name')],
    ];
    const free = [
      ...[place('spec', 'b'), place('spec', 'list', 'y'), place('spec', 'map', '*', 'x'), place('spec', 'text', '*')],
      ...[place('spec', 'c'), place('spec', 'constructor')],
    ];
    const found = await subject.heldPlaces(resource, [...held, ...free], signal);
    assert.ok(found !== 'unknown');
    assert.deepEqual(new Set(found), new Set(held));
  });

  it('answers "unknown" after a failure, and logs it', async () => {
    const { census: subject, logger } = census(0, new KubeError('Unavailable', 'down'));
    assert.equal(await subject.hasObjects(resource, signal), 'unknown');
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });

  it('answers "unknown" where the answer comes too late', async () => {
    const clock = new FakeClock();
    const options = { kinds: allKinds, client: () => never, storage: undefined, clock, logger: new RecordingLogger() };
    const late = new ClusterCensus(options).hasObjects(resource, signal);
    await clock.advance(3500);
    assert.equal(await late, 'unknown');
  });
});
