import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { KindDefinition } from '../../../src/api/kind.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { allKinds, kindsUnder } from '../../../src/kinds/kinds.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { RowRefusedError, StorageFailureError } from '../../../src/storage/errors.ts';
import type { MetadataStorage } from '../../../src/storage/metadata-storage.ts';
import { maskedValues } from '../../../src/storage/sensitive.ts';
import type { Ending } from '../../../src/sync/flows/ending.ts';
import { Spool, type SpoolCount } from '../../../src/sync/flows/spool.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, kindNamed, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const root = mkdtempSync(join(tmpdir(), 'spool-'));
after(() => rmSync(root, { recursive: true }));
const at = new Date('2026-01-03T00:00:00Z');

function setUp(maxBytes = 1_000_000) {
  const directory = mkdtempSync(join(root, 'case-'));
  const logger = new RecordingLogger();
  const counts: SpoolCount[] = [];
  /** Another one over the same folder, as after a restart. */
  const open = (kinds: readonly KindDefinition[] = allKinds) =>
    new Spool({ directory, kinds, maxBytes, sensitive: maskedValues, logger, onCount: (count) => counts.push(count) });
  const keep = (spool: Spool, object: KubernetesObject, ending: Ending = 'as-recorded') =>
    spool.append({ kind: modelKind, object, ending, at });
  return { open, keep, logger, counts, file: join(directory, 'final-states.jsonl'), storage: new MemoryStorage() };
}

const uids = ['1', '2', '3'];

describe('the spool', () => {
  it('brings the final states it keeps into MySQL after a restart, and then forgets them', async () => {
    const { open, keep, storage, file, counts } = setUp();
    const before = open();
    for (const uid of uids) assert.equal(await keep(before, aModel({ uid, resourceVersion: '11' })), true);
    assert.equal(await open().replay(storage, encodeObject), 3);
    for (const uid of uids) assert.equal((await storage.getById(modelKind, uid))?.state, 'deleted');
    assert.equal(existsSync(file), false);
    assert.deepEqual(
      counts.map(({ waiting }) => waiting),
      [1, 2, 3, 3, 0],
    );
  });

  it('keeps every final state while MySQL is away, and loses none to a repeat', async () => {
    const { open, keep, storage } = setUp();
    const spool = open();
    await keep(spool, aModel({ uid: '1', resourceVersion: '11' }));
    storage.down = true;
    await assert.rejects(spool.replay(storage, encodeObject), { code: 'STORAGE_UNAVAILABLE' });
    storage.down = false;
    assert.equal(await spool.replay(storage, encodeObject), 1);
    assert.equal(await spool.replay(storage, encodeObject), 0);
  });

  it('ends a row as evicted where that was intended', async () => {
    const { open, keep, storage } = setUp();
    await keep(open(), aModel({ uid: '1' }), 'evicted');
    await open().replay(storage, encodeObject);
    assert.equal((await storage.getById(modelKind, '1'))?.state, 'evicted');
  });

  it('cuts off a line that a power cut tore, and goes on behind it', async () => {
    const { open, keep, storage, file } = setUp();
    await keep(open(), aModel({ uid: '1' }));
    appendFileSync(file, 'abc\t{"torn');
    const restarted = open();
    await keep(restarted, aModel({ uid: '2' }));
    assert.equal(await restarted.replay(storage, encodeObject), 2);
    assert.equal(existsSync(`${file}.damaged`), false);
  });

  it('keeps a file with damaged lines for an operator, after it has written the other lines', async () => {
    const { open, keep, storage, file, logger } = setUp();
    await keep(open(), aModel({ uid: '1' }));
    appendFileSync(file, 'not the checksum\t{}\n');
    assert.equal(await open().replay(storage, encodeObject), 1);
    assert.equal(existsSync(`${file}.damaged`), true);
    assert.ok(logger.lines.some(({ level }) => level === 'error'));
  });

  /** A server with an opinion about the row of one object. */
  function failingFor(storage: MemoryStorage, uid: string, error: () => Error): MetadataStorage {
    return new Proxy<MetadataStorage>(storage, {
      get: (target, method) => {
        const value: unknown = Reflect.get(target, method, target);
        if (method !== 'finish') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        return (...given: Parameters<MetadataStorage['finish']>) =>
          given[0].uid === uid ? Promise.reject(error()) : storage.finish(...given);
      },
    });
  }

  it('moves a final state aside that MySQL refuses, brings the others, and says which it is', async () => {
    const { open, keep, storage, file, logger, counts } = setUp();
    const spool = open();
    for (const uid of uids) await keep(spool, aModel({ uid, name: `name-${uid}`, resourceVersion: '11' }));
    const refusing = failingFor(storage, '2', () => new RowRefusedError('ER_INVALID_JSON_TEXT 3140'));
    assert.equal(await spool.replay(refusing, encodeObject), 2);
    assert.equal(await spool.replay(refusing, encodeObject), 0);
    assert.equal(existsSync(file), false);
    assert.deepEqual(counts.at(-1), { waiting: 0, aside: 1 });
    const errors = logger.lines.filter(({ level }) => level === 'error');
    assert.equal(errors.length, 1);
    assert.match(String(errors[0]?.['what']), /^Model a-namespace\/name-2, uid 2: MySQL refused the row/);
    assert.equal(await keep(spool, aModel({ uid: '4' })), true);
    assert.equal(await spool.replay(refusing, encodeObject), 1);
    assert.equal(await open().replay(storage, encodeObject), 1, 'the next process tries it again');
    assert.equal((await storage.getById(modelKind, '2'))?.state, 'deleted');
    assert.equal(existsSync(`${file}.aside`), false);
    assert.deepEqual(counts.at(-1), { waiting: 0, aside: 0 });
  });

  it('keeps the final state of an unknown kind, for a process that knows the kind', async () => {
    const { open, keep, storage, file, counts } = setUp();
    await keep(open(), aModel({ uid: '1' }));
    assert.equal(await open([]).replay(storage, encodeObject), 0);
    assert.equal(existsSync(`${file}.aside`), true);
    assert.deepEqual(counts.at(-1), { waiting: 0, aside: 1 });
    assert.equal(await open().replay(storage, encodeObject), 1);
    assert.equal((await storage.getById(modelKind, '1'))?.state, 'deleted');
  });

  it('tries a final state again that MySQL fails on, without keeping the others waiting', async () => {
    const { open, keep, storage, counts } = setUp();
    const spool = open();
    for (const uid of uids) await keep(spool, aModel({ uid, resourceVersion: '11' }));
    const failing = failingFor(storage, '1', () => new StorageFailureError('ER_UNKNOWN 9999', undefined));
    for (let time = 0; time < 2; time += 1)
      await assert.rejects(spool.replay(failing, encodeObject), { code: 'STORAGE_FAILURE' });
    assert.equal((await storage.getById(modelKind, '3'))?.state, 'deleted');
    assert.deepEqual(counts.at(-1), { waiting: 1, aside: 0 });
    assert.equal(await spool.replay(storage, encodeObject), 1);
  });

  it('writes under the names that the tables of the configuration have', async () => {
    const { open, keep, storage } = setUp();
    const snakeCased = kindsUnder('snake_case');
    const tables: string[] = [];
    const finish = storage.finish.bind(storage);
    storage.finish = (row, at) => {
      tables.push(row.kind.table);
      return finish(row, at);
    };
    const spool = open(snakeCased);
    await keep(spool, { ...aModel({ uid: '1' }), kind: 'Model' });
    await spool.append({
      kind: kindNamed('PipelineRun'),
      object: { ...aModel({ uid: '2' }), kind: 'PipelineRun' },
      ending: 'as-recorded',
      at,
    });
    assert.equal(await spool.replay(storage, () => new Uint8Array()), 2);
    assert.deepEqual(tables, ['model', 'pipeline_run']);
  });

  it('refuses a final state that does not fit, so that the object waits instead', async () => {
    const { open, keep } = setUp(1000);
    const spool = open();
    const accepted: boolean[] = [];
    for (const uid of uids) accepted.push(await keep(spool, aModel({ uid })));
    assert.equal(accepted[0], true);
    assert.equal(accepted.at(-1), false);
  });

  it('keeps numbers that a double cannot hold, and no secret', async () => {
    const { open, file } = setUp();
    const kind = { ...modelKind, sensitive: [['spec', 'token']] };
    const big = (JSON as unknown as { rawJSON(text: string): never }).rawJSON('12345678901234567890');
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': 'hush-1' };
    const object = aModel({ annotations }, { token: 'hush-2', big });
    await open().append({ kind, object, ending: 'deleted', at });
    const text = readFileSync(file, 'utf8');
    assert.match(text, /12345678901234567890/);
    assert.doesNotMatch(text, /hush/);
  });
});
