// What goes in comes out, at the limits of Kubernetes, and the statements of the original program read it too.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { canonicalJson, type JsonObject } from '../../src/base/json.ts';
import { parseLossless } from '../../src/base/lossless-json.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { unreadable } from '../../src/sync/audit/audit.ts';
import { proveStored } from '../../src/sync/flows/proof.ts';
import { toRow } from '../../src/sync/row.ts';
import { useDatabase } from '../support/databases.ts';
import { aModel, aModelRow, kindNamed, modelKind, rowOf } from '../support/objects.ts';

const content = (json: string): string => canonicalJson(parseLossless(json));

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`the storage on ${flavour}`, () => {
    const database = useDatabase(flavour);
    const storage = () => database().storage;
    const query = (sql: string, parameters: readonly string[]) => database().database.query(sql, parameters);
    const stored = async (row: ObjectRow) => {
      assert.equal(await storage().upsert(row), 'inserted');
      return (await storage().getById(row.kind, row.uid)) ?? assert.fail('no row');
    };

    it('keeps names of 253, label keys of 317, annotations of 256 KiB and objects of 1.5 MB', async () => {
      const labels = { [`${'p'.repeat(253)}/${'n'.repeat(63)}`]: 'v'.repeat(63) };
      const annotations = { big: 'ä'.repeat(120 * 1024) };
      const row = aModelRow(
        { uid: 'u'.repeat(64), name: 'n'.repeat(253), namespace: 's'.repeat(63), labels, annotations },
        { text: 'x'.repeat(1_200_000) },
      );
      assert.ok(row.json.length > 1_300_000);
      const found = await stored(row);
      assert.deepEqual([found.name, { ...found.labels }, { ...found.annotations }], [row.name, labels, annotations]);
      assert.equal(content(found.json), content(row.json));
      assert.deepEqual(found.proto, row.proto);
    });

    it('keeps numbers beyond 2^53, unknown fields, odd text and explicit zeros', async () => {
      const spec = parseLossless(
        '{"big":9007199254740993,"most":18446744073709551615,"least":-9223372036854775808,"half":0.1,' +
          '"unknown":{"":[null,false,0,"",{}]},"text":"\\u0000 \\u2028 😀 \\" \\\\ é"}',
      ) as JsonObject;
      const row = aModelRow({ uid: 'odd', name: 'odd' }, spec);
      assert.match(row.json, /9007199254740993/);
      assert.equal(content((await stored(row)).json), content(row.json));
    });

    for (const levels of [31, 40, 110, 9000]) {
      it(`takes an object of ${levels} levels, and gives it back as it was`, async () => {
        const deep = `${'{"a":'.repeat(levels - 2)}12345678901234567890${'}'.repeat(levels - 2)}`;
        const object = aModel({ uid: `deep-${levels}` }, { input: parseLossless(deep) as JsonObject });
        const row = toRow(modelKind, object, encodeObject);
        // The field is none of the definitions, so the protobuf bytes lack it.
        assert.deepEqual(row.unfit, ['json', 'proto']);
        const found = await stored(row);
        await proveStored({ storage: storage() }, row, ['live']);
        assert.equal(unreadable(modelKind, found), undefined);
        const [, text = ''] = /"michelangelo\/json": ?("(?:[^"\\]|\\.)*")/.exec(found.json) ?? [];
        const kept = JSON.parse(text) as string;
        assert.ok(deep.includes(kept) && kept.length > deep.length - 30 * '{"a":}'.length, kept.slice(0, 100));
      });
    }

    it('takes an object with a key of 70,000 bytes', async () => {
      const row = toRow(modelKind, aModel({ uid: 'long-key' }, { input: { ['k'.repeat(70_000)]: 1 } }), encodeObject);
      await stored(row);
      await proveStored({ storage: storage() }, row, ['live']);
    });

    it('keeps labels and annotations of any text, be they new, changed or added to others', async () => {
      const text = fc.string({ unit: 'binary', maxLength: 40 });
      const pairs = (value: fc.Arbitrary<string>) =>
        fc.uniqueArray(fc.tuple(text, value), { selector: ([key]) => key, maxLength: 6 });
      let index = 0;
      await fc.assert(
        fc.asyncProperty(
          pairs(text),
          pairs(fc.string({ unit: 'binary', maxLength: 500 })),
          async (labels, annotations) => {
            index += 1;
            const id = { uid: `texts-${index}`, name: `texts-${index}` };
            for (const [version, kept] of [
              [1, 3],
              [2, 6],
              [3, 2],
            ] as const) {
              const row = {
                ...aModelRow({ ...id, resourceVersion: String(version) }),
                labels: labels.slice(-kept),
                annotations: annotations
                  .slice(-kept)
                  .map(([key, value]): [string, string] => [key, `${version}${value}`]),
              };
              await storage().upsert(row);
              for (const part of ['labels', 'annotations'] as const) {
                const sql = `SELECT \`key\`, \`value\` FROM model_${part} WHERE obj_uid = ?`;
                const found = (await query(sql, [id.uid])).map((pair) => [String(pair['key']), String(pair['value'])]);
                assert.deepEqual(found.toSorted(), row[part].toSorted());
              }
            }
          },
        ),
        { numRuns: 40 },
      );
    });

    it('stores a new object whose uid has left labels and annotations behind, and those written with it', async () => {
      const left =
        "SELECT 'left' AS `obj_uid`, `key`, 'old' AS `value` FROM (SELECT 'old' AS `key` UNION SELECT 'gone') AS `k`";
      await query(`INSERT INTO model_labels SELECT *, UTC_TIMESTAMP(6) FROM (${left}) AS \`l\``, []);
      await query(`INSERT INTO model_annotations ${left}`, []);
      const pairs = { old: 'new', other: 'new' };
      const rows = ['left', 'beside'].map((uid) => aModelRow({ uid, name: uid, labels: pairs, annotations: pairs }));
      assert.deepEqual(await Promise.all(rows.map((row) => storage().upsert(row))), ['inserted', 'inserted']);
      for (const { kind, uid } of rows) {
        const found = await storage().getById(kind, uid);
        assert.deepEqual([{ ...found?.labels }, { ...found?.annotations }], [pairs, pairs]);
      }
    });

    it('cuts a value that is too long for its column in the column alone', async () => {
      const long = '😀'.repeat(300);
      const row = aModelRow({ uid: 'long', name: 'long' }, { algorithm: long, description: long.repeat(4) });
      assert.equal(content((await stored(row)).json), content(row.json));
      const [columns] = await query('SELECT algorithm, description FROM model WHERE uid = ?', ['long']);
      assert.deepEqual({ ...columns }, { algorithm: '😀'.repeat(255), description: '😀'.repeat(768) });
    });

    it('tells once for each row that was written which columns cannot hold the object', async () => {
      const told: (readonly string[])[] = [];
      const observed = new MysqlMetadataStorage(database().options, systemClock, undefined, {
        onUnfit: (_kind, columns) => void told.push(columns),
      });
      const row = aModelRow({ uid: 'unfit', name: 'unfit' }, { algorithm: 'x'.repeat(256), source: 'y'.repeat(300) });
      for (const outcome of ['inserted', 'unchanged']) assert.equal(await observed.upsert(row), outcome);
      assert.equal(await observed.upsert(aModelRow({ uid: 'fit', name: 'fit' })), 'inserted');
      assert.deepEqual(told, [['algorithm', 'source']]);
      await observed.close();
    });

    it('stores and ends an object whose times and numbers are at the bounds of its columns or beyond them', async () => {
      const bounds = [
        ['1000-01-01T00:00:00Z', -2_147_483_648, '1000-01-01 00:00:00.000000', -2_147_483_648],
        ['9999-12-31T23:59:59.999999999Z', 2_147_483_647, '9999-12-31 23:59:59.999999', 2_147_483_647],
        ['0000-01-01T00:00:00Z', 2_147_483_648, null, null],
        ['-000001-01-01T00:00:00Z', -2_147_483_649, null, null],
        ['+010000-01-01T00:00:00Z', 0, null, 0],
        ['2026-02-30T25:61:00Z', 0, null, 0],
      ] as const;
      for (const [index, [time, number, column, storedNumber]] of bounds.entries()) {
        const uid = `bounds-${index}`;
        const run = {
          ...aModel({ uid, name: uid, creationTimestamp: time }),
          kind: 'PipelineRun',
          status: { endTime: time },
        };
        const ended = toRow(kindNamed('PipelineRun'), run, () => new Uint8Array());
        assert.equal(await storage().finish(ended, new Date(time)), 'inserted', time);
        const [row] = await query('SELECT end_time, row_state FROM pipelinerun WHERE uid = ?', [uid]);
        assert.deepEqual([row?.['end_time'] ?? null, Number(row?.['row_state'])], [column, 2], time);
        assert.deepEqual(ended.unfit ?? [], column === null ? ['end_time'] : [], time);
        const model = toRow(modelKind, aModel({ uid, name: uid }, { revisionId: number }), () => new Uint8Array());
        assert.equal(await storage().upsert(model), 'inserted');
        const [stored] = await query('SELECT revision_id FROM model WHERE uid = ?', [uid]);
        assert.equal(stored?.['revision_id'] ?? null, storedNumber);
      }
    });

    it('keeps every double as the server got it, so that what is read back is what was written', async () => {
      const doubles = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), { numRuns: 3000, seed: 7 });
      const digits = doubles.map((value) => Number(value.toPrecision(15)));
      const row = aModelRow({ uid: 'doubles', name: 'doubles' }, { exact: doubles, digits });
      const found = await stored(row);
      assert.equal(content(found.json), content(row.json));
      await proveStored({ storage: storage() }, row, ['live']);
      assert.equal(unreadable(modelKind, found), undefined);
    });

    it('proves a row whose fractions the server has read wrong in the last places, and no other difference', async () => {
      const row = aModelRow({ uid: 'read-wrong', name: 'read-wrong' }, { ratio: 0.1, count: 7 });
      await stored(row);
      const proveWith = async (ratio: string, count: string): Promise<void> => {
        const json = `JSON_REPLACE(json, '$.spec.ratio', ${ratio}, '$.spec.count', ${count})`;
        await query(`UPDATE model SET json = ${json} WHERE uid = ?`, ['read-wrong']);
        const found = await storage().getById(modelKind, 'read-wrong');
        assert.notEqual(content(found?.json ?? ''), content(row.json));
        await proveStored({ storage: storage() }, row, ['live']);
      };
      await proveWith('0.10000000000000003e0', '7');
      await assert.rejects(proveWith('0.1000000000001e0', '7'), { code: 'ROW_MISMATCH' });
      await assert.rejects(proveWith('0.1e0', '8'), { code: 'ROW_MISMATCH' });
    });

    it('writes NULL where a message is missing, and zero values where only the field is', async () => {
      const object = { ...aModel({ uid: 'nulls', name: 'nulls' }), spec: { owner: {}, modelFamily: { name: 'f' } } };
      await stored(rowOf(object));
      const [columns] = await query(
        'SELECT algorithm, owner, model_family_namespace, model_family_name, src_pipeline_run_name, revision_id, model_kind, ' +
          'delete_time FROM model WHERE uid = ?',
        ['nulls'],
      );
      assert.deepEqual(
        { ...columns },
        {
          algorithm: '',
          owner: '',
          model_family_namespace: '',
          model_family_name: 'f',
          src_pipeline_run_name: null,
          revision_id: 0,
          model_kind: 'MODEL_KIND_INVALID',
          delete_time: null,
        },
      );
    });

    it('writes rows that the statements of the original can read', async () => {
      const model = (uid: string, created: string): ObjectRow =>
        toRow(
          modelKind,
          aModel({ uid, name: uid, namespace: 'orig', creationTimestamp: created, labels: { a: uid } }),
          encodeObject,
        );
      const rows = [model('orig-1', '2026-01-01T00:00:00Z'), model('orig-2', '2026-01-02T00:00:00Z')];
      for (const row of rows) await storage().upsert(row);
      await storage().finish(model('orig-gone', '2026-01-03T00:00:00Z'), new Date());
      const protos = async (sql: string, parameters: readonly string[]) =>
        (await query(sql, parameters)).map(({ proto }) => new Uint8Array(proto as Buffer));
      const byName = 'SELECT proto FROM model WHERE namespace = ? AND name = ? AND delete_time IS NULL LIMIT 1';
      const byId = 'SELECT proto FROM model WHERE uid = ? AND delete_time IS NULL LIMIT 1';
      const list =
        'SELECT proto FROM model WHERE delete_time IS NULL AND namespace = ? ORDER BY create_time DESC LIMIT 10';
      assert.deepEqual(await protos(byName, ['orig', 'orig-1']), [rows[0]?.proto]);
      assert.deepEqual(await protos(byId, ['orig-2']), [rows[1]?.proto]);
      assert.deepEqual(await protos(list, ['orig']), [rows[1]?.proto, rows[0]?.proto]);
      assert.deepEqual([await protos(byId, ['orig-gone']), await protos(byName, ['orig', 'orig-gone'])], [[], []]);
      const labels = await query('SELECT `key`, `value` FROM model_labels WHERE obj_uid = ?', ['orig-1']);
      assert.deepEqual(
        labels.map((row) => ({ ...row })),
        [{ key: 'a', value: 'orig-1' }],
      );
    });
  });
}
