import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asWatched, type WatchedObject } from '../../../src/kube/watched-object.ts';
import { StoredVersions } from '../../../src/sync/startup/stored-versions.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

function setUp() {
  const storage = new MemoryStorage();
  const logger = new RecordingLogger();
  return { storage, logger, stored: new StoredVersions(modelKind, storage, logger) };
}

const watched = (uid: string, resourceVersion: string): WatchedObject =>
  asWatched(aModel({ name: uid, uid, resourceVersion }));

describe('StoredVersions', () => {
  it('knows what MySQL holds as live at the same version, and nothing else', async () => {
    const { storage, stored } = setUp();
    const objects = ['same', 'newer', 'unknown', 'evicting'].map((uid) => watched(uid, '5'));
    await storage.upsert(aModelRow({ name: 'same', uid: 'same', resourceVersion: '5' }));
    await storage.upsert(aModelRow({ name: 'newer', uid: 'newer', resourceVersion: '4' }));
    const evicting = aModelRow({ name: 'evicting', uid: 'evicting', resourceVersion: '5' });
    await storage.requestEviction(evicting, new Date());
    assert.equal(stored.has(watched('same', '5')), false, 'before it has looked');
    await stored.look(objects);
    assert.deepEqual(
      objects.map((object) => stored.has(object)),
      [true, false, false, false],
    );
    await stored.look([watched('unknown', '5')]);
    assert.equal(stored.has(watched('same', '5')), false, 'it knows only what it looked for last');
  });

  it('asks an empty table once, and says that all is stored', async () => {
    const { storage, logger, stored } = setUp();
    for (let index = 0; index < 3; index += 1) await stored.look([watched('a', '1')]);
    assert.equal(storage.calls.filter((call) => call === 'identities').length, 1);
    assert.deepEqual(logger.messages(), ['MySQL has no Model and the cluster has some: storing all of them']);
  });

  it('takes nothing for stored where MySQL does not answer, and asks it no more after three failures', async () => {
    const { storage, logger, stored } = setUp();
    await storage.upsert(aModelRow({ name: 'a', uid: 'a', resourceVersion: '5' }));
    const before = storage.calls.length;
    storage.down = true;
    for (let index = 0; index < 5; index += 1) {
      await stored.look([watched('a', '5')]);
      assert.equal(stored.has(watched('a', '5')), false);
    }
    assert.equal(storage.calls.length - before, 3);
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 3);
  });
});
