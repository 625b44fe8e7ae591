import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Committed } from '../../../src/storage/mysql/committed.ts';
import { missingPositions } from '../../../src/storage/mysql/server-history.ts';

describe('positions of MariaDB', () => {
  const cases: readonly (readonly [what: string, seen: string, known: string, missing: readonly string[]])[] = [
    ['that the server has reached are not missing', '0-1-100', '0-1-100', []],
    ['of a server that went on are not missing', '0-1-100', '0-1-120', []],
    ['are missing where a replica took over that was behind', '0-1-100', '0-1-95,0-2-96', ['0-1-100']],
    ['are missing where it has gone beyond them since', '0-1-100', '0-1-95,0-2-140', ['0-1-100']],
    ['are not missing where the replica had them', '0-1-100', '0-1-100,0-2-101', []],
    ['are told by the replica position where the binary log begins later', '0-1-100', '0-2-101,0-1-100', []],
    ['of a server that this one never heard of tell nothing where it is further', '0-1-100', '0-3-150', []],
    ['of a server that this one never heard of are missing where it is not', '0-1-100', '0-3-50', ['0-1-100']],
    ['of another domain are looked at by themselves', '0-1-10,7-1-5', '0-1-10,7-1-4', ['7-1-5']],
    ['are missing where the server is empty', '0-1-10', '', ['0-1-10']],
  ];
  for (const [what, seen, known, missing] of cases) {
    it(what, () => assert.deepEqual(missingPositions(seen, known), missing));
  }
});

describe('Committed', () => {
  it('keeps the newest position of each source, with tags and in any order, and forgets positions that were taken', () => {
    const committed = new Committed();
    for (const gtid of ['a:8', 'a:7', 'b:1-3', 'a:tag:2']) committed.note([gtid]);
    assert.equal(committed.take(), 'a:8,b:3,a:tag:2');
    assert.equal(committed.take(), '');
  });
});
