// A row that ends without a state of its object is a change of it, for those who read what changed: on both servers.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useDatabase } from '../support/databases.ts';
import { aModelRow, modelKind } from '../support/objects.ts';

/** A row that has just been written is later than this. */
const long = new Date('2020-01-01T00:00:00Z');

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`an end on ${flavour}`, () => {
    const database = useDatabase(flavour);
    const updatedBy = async (uid: string, end: (uid: string) => Promise<unknown>): Promise<void> => {
      const { storage } = database();
      await storage.requestEviction(aModelRow({ uid, name: uid, namespace: uid }), long);
      const before = await storage.getById(modelKind, uid);
      await end(uid);
      const after = await storage.getById(modelKind, uid);
      assert.notEqual(after?.state, before?.state);
      assert.ok((after?.updateTime ?? '') > (before?.updateTime ?? '~'), `${after?.updateTime} is not later`);
    };

    it('by the deletion of a collection is a change at the time it was made', () =>
      updatedBy('collection', (namespace) =>
        database().storage.deleteCollection(modelKind, { namespace, states: ['evicting'] }, long),
      ));

    it('of an object that left unseen is a change at the time it was noted', () =>
      updatedBy('missed', (uid) =>
        database().storage.markMissedDelete(modelKind, { uid, resourceVersion: '10' }, long, 'a test'),
      ));
  });
}
