import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { maskedValues } from '../../../src/storage/sensitive.ts';
import type { Ending } from '../../../src/sync/ending.ts';
import { Spool } from '../../../src/sync/spool.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const root = mkdtempSync(join(tmpdir(), 'spool-'));
after(() => rmSync(root, { recursive: true }));
const at = new Date('2026-01-03T00:00:00Z');

function setUp(maxBytes = 1_000_000) {
  const directory = mkdtempSync(join(root, 'case-'));
  const logger = new RecordingLogger();
  const counts: number[] = [];
  /** Another one over the same folder, as after a restart. */
  const open = () =>
    new Spool({ directory, maxBytes, sensitive: maskedValues, logger, onCount: (count) => counts.push(count) });
  const keep = (spool: Spool, object: KubernetesObject, ending: Ending = 'as-recorded') =>
    spool.append({ kind: modelKind, object, ending, at });
  return { open, keep, logger, counts, file: join(directory, 'released.jsonl'), storage: new MemoryStorage() };
}

const uids = ['1', '2', '3'];

describe('the spool', () => {
  it('brings what it keeps into MySQL after a restart, and then forgets it', async () => {
    const { open, keep, storage, file, counts } = setUp();
    const before = open();
    for (const uid of uids) assert.equal(await keep(before, aModel({ uid, resourceVersion: '11' })), true);
    assert.equal(await open().replay(storage, encodeObject), 3);
    for (const uid of uids) assert.equal((await storage.getById(modelKind, uid))?.state, 'deleted');
    assert.equal(existsSync(file), false);
    assert.deepEqual(counts, [1, 2, 3, 3, 0]);
  });

  it('keeps everything while MySQL is away, and loses nothing to a repeat', async () => {
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

  it('keeps a file with damaged lines for a person, after it has written the others', async () => {
    const { open, keep, storage, file, logger } = setUp();
    await keep(open(), aModel({ uid: '1' }));
    appendFileSync(file, 'not the checksum\t{}\n');
    assert.equal(await open().replay(storage, encodeObject), 1);
    assert.equal(existsSync(`${file}.damaged`), true);
    assert.ok(logger.lines.some(({ level }) => level === 'error'));
  });

  it('refuses what does not fit, so that the object waits instead', async () => {
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
