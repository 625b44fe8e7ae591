// The spool on disks that misbehave: one that is full, and one that does not answer.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { RowRefusedError } from '../../src/storage/errors.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import { maskedValues } from '../../src/storage/sensitive.ts';
import type { UnsavedEnding } from '../../src/sync/flows/outage-policy.ts';
import { Spool } from '../../src/sync/flows/spool.ts';
import { SpoolingPolicy } from '../../src/sync/flows/spooling-policy.ts';
import { eventually } from '../support/eventually.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { aModel, modelKind } from '../support/objects.ts';
import { RecordingLogger } from '../support/recording-logger.ts';
import { fillUp, smallDisk } from '../support/small-disk.ts';

const spoolIn = (directory: string): Spool =>
  new Spool({
    directory,
    kinds: allKinds,
    maxBytes: 100_000_000,
    sensitive: maskedValues,
    logger: new RecordingLogger(),
  });

const ending = (uid: string): UnsavedEnding => {
  const object = aModel({ uid, name: `name-${uid}`, resourceVersion: '11' }, { note: 'n'.repeat(100_000) });
  return { kind: modelKind, object, ending: 'as-recorded', at: new Date('2026-01-03T00:00:00Z') };
};

/** A disk of two mebibytes and a spool on it; undefined, and the test is skipped, where none can be had. */
function onSmallDisk(t: TestContext): { readonly folder: string; readonly spool: Spool } | undefined {
  const disk = smallDisk(2);
  if (disk === undefined) {
    t.skip('a small file system can only be mounted by root');
    return undefined;
  }
  t.after(() => disk.remove());
  return { folder: disk.folder, spool: spoolIn(disk.folder) };
}

/** A storage that takes no row of one object. */
function refusing(storage: MemoryStorage, uid: string): MetadataStorage {
  return new Proxy<MetadataStorage>(storage, {
    get: (target, method) => {
      const value: unknown = Reflect.get(target, method, target);
      if (method !== 'finish') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      return (...given: Parameters<MetadataStorage['finish']>) =>
        given[0].uid === uid ? Promise.reject(new RowRefusedError('scripted')) : storage.finish(...given);
    },
  });
}

describe('the spool on a full disk', () => {
  it('says that it could not keep a final state, loses none that it has kept, and goes on when there is room', async (t) => {
    const small = onSmallDisk(t);
    if (small === undefined) return;
    const { folder, spool } = small;
    const kept: string[] = [];
    let problem: unknown;
    for (let index = 0; problem === undefined && index < 100; index += 1) {
      await spool.append(ending(`${index}`)).then(
        () => kept.push(`${index}`),
        (error: unknown) => (problem = error),
      );
    }
    assert.equal((problem as { readonly code?: string }).code, 'SPOOL_DISK');
    assert.ok(kept.length > 5, `${kept.length} were kept`);
    const storage = new MemoryStorage();
    assert.equal(await spool.replay(storage, encodeObject), kept.length);
    for (const uid of kept) assert.equal((await storage.getById(modelKind, uid))?.state, 'deleted', uid);
    assert.equal(await spool.append(ending('later')), true);
    assert.equal(await spoolIn(folder).replay(storage, encodeObject), 1);
  });

  it('brings the others into MySQL where one is refused and cannot be moved aside', async (t) => {
    const small = onSmallDisk(t);
    if (small === undefined) return;
    const { folder, spool } = small;
    for (const uid of ['1', '2', '3']) await spool.append(ending(uid));
    const filler = join(folder, 'filler');
    mkdirSync(filler);
    fillUp(filler, [500_000, 50_000, 4096]);
    const storage = new MemoryStorage();
    await assert.rejects(spool.replay(refusing(storage, '1'), encodeObject), { code: 'SPOOL_DISK' });
    for (const uid of ['2', '3']) assert.equal((await storage.getById(modelKind, uid))?.state, 'deleted', uid);
    assert.match(readFileSync(join(folder, 'final-states.jsonl'), 'utf8'), /name-1/);
    rmSync(filler, { recursive: true });
    assert.equal(await spool.replay(refusing(storage, '1'), encodeObject), 2);
    assert.equal(await spoolIn(folder).replay(storage, encodeObject), 1);
    assert.equal((await storage.getById(modelKind, '1'))?.state, 'deleted');
  });
});

describe('the spool on a disk that does not answer', () => {
  it('is given up in time, holds one object and no queue of them, and is used again when the disk answers', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'spool-'));
    const fifo = join(directory, 'final-states.jsonl');
    // Opening it waits for another process, as the calls to a volume whose server is gone do.
    execFileSync('sh', ['-c', 'mkfifo "$0"', fifo]);
    const spool = spoolIn(directory);
    const away = () => ({ since: new Date(0), forMs: 1000 });
    let appends = 0;
    const append: Spool['append'] = (unsaved) => {
      appends += 1;
      return spool.append(unsaved);
    };
    const policy = new SpoolingPolicy({ spool: { append }, afterMs: 0, away, clock: systemClock, diskMs: 300 });
    try {
      await assert.rejects(policy.keep(ending('1')), { code: 'SPOOL_DISK' });
      for (let time = 0; time < 3; time += 1) await assert.rejects(policy.keep(ending('1')), { code: 'SPOOL_DISK' });
      assert.equal(appends, 1, 'no object waits in a queue behind the silent call');
    } finally {
      const end = openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
      rmSync(fifo);
      closeSync(end);
    }
    await eventually(async () => assert.ok(await policy.keep(ending('1'))));
    assert.ok((await spoolIn(directory).replay(new MemoryStorage(), encodeObject)) > 0);
    rmSync(directory, { recursive: true });
  });
});
