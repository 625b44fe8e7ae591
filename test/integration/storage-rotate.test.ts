// Sensitive values in the database: never in the clear, bound to their place, sealed again with a new key.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { decodeObject } from '../../src/proto/decode.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { Keyring } from '../../src/storage/keyring.ts';
import { type RotateOptions, rotateRows } from '../../src/storage/mysql/tasks/rotate.ts';
import { openObject, type SensitiveValues } from '../../src/storage/sensitive.ts';
import { resealRow } from '../../src/sync/reseal.ts';
import { toRow } from '../../src/sync/row.ts';
import { useDatabase } from '../support/databases.ts';
import { aModel, kindNamed } from '../support/objects.ts';

const sparkJob = kindNamed('SparkJob');
const secret = 'SECRET-delegation-token-4711';

function aSparkJob(uid: string, token = secret): KubernetesObject {
  return {
    ...aModel({ uid, name: uid }),
    kind: 'SparkJob',
    spec: { driver: { pod: { hdfsDelegationToken: token, name: 'd' } }, sparkVersion: '3.3.0' },
  };
}

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`sealed values on ${flavour}`, () => {
    const database = useDatabase(flavour);
    const write = (object: KubernetesObject, sensitive: SensitiveValues) =>
      database().storage.upsert(toRow(sparkJob, object, encodeObject, sensitive));
    const rotation = (keys: Keyring, more: Partial<RotateOptions> = {}): RotateOptions => ({
      mysql: database().options,
      kinds: [sparkJob],
      keyId: keys.keyId,
      reseal: (kind, row) => resealRow(kind, row, keys),
      restFactor: 0,
      ...more,
    });
    const tokenOf = (object: JsonObject): unknown =>
      ((object['spec'] as JsonObject)['driver'] as { pod: JsonObject }).pod['hdfsDelegationToken'];
    const openedToken = async (uid: string, keys: Keyring): Promise<unknown> => {
      const stored = await database().storage.getById(sparkJob, uid);
      const json = JSON.parse(stored?.json ?? '{}') as JsonObject;
      const proto = decodeObject('SparkJob', stored?.proto ?? new Uint8Array());
      assert.equal(tokenOf(proto), tokenOf(json));
      return tokenOf(openObject(sparkJob, json, keys));
    };
    const everything = async (): Promise<string> => {
      const rows = await database().database.query(
        'SELECT json, CONVERT(proto USING latin1) AS proto, content_hash FROM sparkjob',
      );
      return JSON.stringify(rows);
    };

    it('are sealed again with a new key, row by row, and the old key is not needed any more', async () => {
      const [first, second] = [randomBytes(32), randomBytes(32)];
      const uids = Array.from({ length: 120 }, (_, index) => `rotated-${String(index).padStart(3, '0')}`);
      await Promise.all(uids.map((uid) => write(aSparkJob(uid, `${secret}-${uid}`), new Keyring(first))));
      assert.doesNotMatch(await everything(), /SECRET/);
      const lines: string[] = [];
      const both = new Keyring(second, [first]);
      const report = await rotateRows(rotation(both, { progress: (line) => void lines.push(line) }));
      assert.equal(report.changed, 120);
      assert.ok(lines.length >= 3);
      assert.doesNotMatch((await everything()) + lines.join(), /SECRET/);
      for (const uid of uids) assert.equal(await openedToken(uid, new Keyring(second)), `${secret}-${uid}`);
      assert.deepEqual(await rotateRows(rotation(both)), { rows: 120, changed: 0 });
      await assert.rejects(openedToken('rotated-000', new Keyring(first)), { code: 'ENCRYPTION_KEY_MISSING' });
    });

    it('are sealed again while others write, and no write fails', async () => {
      const [first, second] = [randomBytes(32), randomBytes(32)];
      await database().database.query('DELETE FROM sparkjob');
      const uids = Array.from({ length: 160 }, (_, index) => `loaded-${String(index).padStart(3, '0')}`);
      await Promise.all(uids.map((uid) => write(aSparkJob(uid), new Keyring(first))));
      const both = new Keyring(second, [first]);
      let [stopped, version] = [false, 10];
      const writes = (async () => {
        while (!stopped) {
          version += 1;
          for (const uid of uids.filter((_, index) => index % 20 === 0)) {
            const { metadata, ...rest } = aSparkJob(uid);
            await write({ ...rest, metadata: { ...metadata, resourceVersion: String(version) } }, both);
          }
        }
      })();
      const report = await rotateRows(rotation(both));
      stopped = true;
      await writes;
      assert.ok(report.changed >= 152, `${report.changed} sealed again`);
      for (const uid of uids) assert.equal(await openedToken(uid, new Keyring(second)), secret);
    });

    it('are rotated on from the last whole page after the run was killed', async () => {
      const [first, second] = [randomBytes(32), randomBytes(32)];
      await database().database.query('DELETE FROM sparkjob');
      const uids = Array.from({ length: 130 }, (_, index) => `killed-${String(index).padStart(3, '0')}`);
      await Promise.all(uids.map((uid) => write(aSparkJob(uid), new Keyring(first))));
      const both = new Keyring(second, [first]);
      const stop = new AbortController();
      await assert.rejects(rotateRows(rotation(both, { signal: stop.signal, progress: () => stop.abort() })));
      const looked: string[] = [];
      const reseal: RotateOptions['reseal'] = (kind, row) => {
        looked.push(row.json);
        return resealRow(kind, row, both);
      };
      const report = await rotateRows(rotation(both, { reseal }));
      assert.equal(report.changed, 80);
      assert.equal(looked.length, 80 + 130, 'the rest, and one walk that finds nothing');
      for (const uid of uids) assert.equal(await openedToken(uid, new Keyring(second)), secret);
    });

    it('from before there was a key are sealed, and masked ones stay masked', async () => {
      await database().database.query('DELETE FROM sparkjob');
      const keys = new Keyring(randomBytes(32));
      const clear = aSparkJob('clear');
      const inTheClear: SensitiveValues = { ...asSensitive(keys), seal: (value) => value as string };
      await write(clear, inTheClear);
      assert.match(await everything(), /SECRET/);
      await write(aSparkJob('masked', '[redacted]'), inTheClear);
      assert.equal((await rotateRows(rotation(keys))).changed, 1);
      assert.doesNotMatch(await everything(), /SECRET/);
      assert.equal(await openedToken('clear', keys), secret);
      assert.equal(await openedToken('masked', keys), '[redacted]');
    });

    it('that cannot be opened are named without their content, and the others are rotated', async () => {
      await database().database.query('DELETE FROM sparkjob');
      const [first, second, lost] = [randomBytes(32), randomBytes(32), randomBytes(32)];
      await write(aSparkJob('known'), new Keyring(first));
      await write(aSparkJob('lost'), new Keyring(lost));
      const both = new Keyring(second, [first]);
      await assert.rejects(rotateRows(rotation(both)), (error: Error & { code: string }) => {
        assert.equal(error.code, 'ROTATION_INCOMPLETE');
        assert.match(error.message, /uid lost is sealed with key/);
        assert.doesNotMatch(error.message, /SECRET|known/);
        return true;
      });
      assert.equal(await openedToken('known', both), secret);
    });

    it('cannot be moved to a row of another object', async () => {
      await database().database.query('DELETE FROM sparkjob');
      const keys = new Keyring(randomBytes(32));
      await write(aSparkJob('victim'), keys);
      await write(aSparkJob('thief', 'nothing'), keys);
      const victim = JSON.parse((await database().storage.getById(sparkJob, 'victim'))?.json ?? '{}') as JsonObject;
      await database().database.query(
        "UPDATE sparkjob SET json = JSON_SET(json, '$.spec.driver.pod.hdfsDelegationToken', ?) WHERE uid = 'thief'",
        [tokenOf(victim) as string],
      );
      const thief = JSON.parse((await database().storage.getById(sparkJob, 'thief'))?.json ?? '{}') as JsonObject;
      assert.throws(() => openObject(sparkJob, thief, keys), { code: 'SEALED_VALUE_DAMAGED' });
    });
  });
}

function asSensitive(keys: Keyring): SensitiveValues {
  return {
    seal: (value, place) => keys.seal(value, place),
    open: (text, place) => keys.open(text, place),
    outdated: (value) => keys.outdated(value),
  };
}
