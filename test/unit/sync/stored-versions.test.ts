import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asWatched, type WatchedObject } from '../../../src/kube/watched-object.ts';
import { StoredVersions } from '../../../src/sync/startup/stored-versions.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

function setUp(keeps?: (object: { readonly uid: string }) => boolean) {
  const storage = new MemoryStorage();
  const logger = new RecordingLogger();
  return { storage, logger, stored: new StoredVersions({ kind: modelKind, storage, keeps, logger }) };
}

const watched = (uid: string, resourceVersion: string): WatchedObject =>
  asWatched(aModel({ name: uid, uid, resourceVersion }));

describe('StoredVersions', () => {
  it('knows what MySQL holds as live at the same version, until the list is complete, and nothing else', async () => {
    const { storage, stored } = setUp();
    const objects = ['same', 'newer', 'unknown', 'evicting'].map((uid) => watched(uid, '5'));
    await storage.upsert(aModelRow({ name: 'same', uid: 'same', resourceVersion: '5' }));
    await storage.upsert(aModelRow({ name: 'newer', uid: 'newer', resourceVersion: '4' }));
    const evicting = aModelRow({ name: 'evicting', uid: 'evicting', resourceVersion: '5' });
    await storage.requestEviction(evicting, new Date());
    assert.equal(stored.has(watched('same', '5')), false, 'before the rows were read');
    await stored.load();
    assert.deepEqual(
      objects.map((object) => stored.has(object)),
      [true, false, false, false],
    );
    stored.release();
    assert.equal(stored.has(watched('same', '5')), false, 'after the list');
  });

  it('keeps nothing of the objects of other replicas', async () => {
    const { storage, stored } = setUp(({ uid }) => uid === 'own');
    for (const uid of ['own', 'other']) await storage.upsert(aModelRow({ name: uid, uid, resourceVersion: '5' }));
    await stored.load();
    assert.equal(stored.has(watched('own', '5')), true);
    assert.equal(stored.has(watched('other', '5')), false);
  });

  it('reads the rows once, and says that all is stored where there are none', async () => {
    const { storage, logger, stored } = setUp();
    for (let index = 0; index < 3; index += 1) await stored.load();
    assert.equal(storage.calls.filter((call) => call === 'identities').length, 1);
    assert.deepEqual(logger.messages(), ['MySQL has no Model and the cluster has some: storing all of them']);
  });

  it('takes nothing for stored where MySQL does not answer, and asks it no more after three failures', async () => {
    const { storage, logger, stored } = setUp();
    await storage.upsert(aModelRow({ name: 'a', uid: 'a', resourceVersion: '5' }));
    const before = storage.calls.length;
    storage.down = true;
    for (let index = 0; index < 5; index += 1) {
      await stored.load();
      assert.equal(stored.has(watched('a', '5')), false);
    }
    assert.equal(storage.calls.length - before, 3);
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 3);
  });
});
