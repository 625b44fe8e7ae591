import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dialectOf } from '../../../src/storage/mysql/dialect.ts';
import type { SqlSession } from '../../../src/storage/mysql/pool.ts';
import { refuseWideAnnotations } from '../../../src/storage/mysql/read/bounds.ts';
import { modelKind } from '../../support/objects.ts';

const note = { key: 'note', operator: 'exists' } as const;

/** A server where so many objects fulfil the rest of a query. */
function counting(count: number): { readonly session: SqlSession; readonly asked: string[] } {
  const asked: string[] = [];
  const query = (sql: string): Promise<readonly (readonly number[])[]> => {
    asked.push(sql);
    return Promise.resolve([[count]]);
  };
  return { session: { query, dialect: dialectOf('8.4') } as unknown as SqlSession, asked };
}

describe('an annotation, which each object that fulfils the rest is asked for', () => {
  it('is refused where these are more than 100,000, and counted no further', async () => {
    const { session, asked } = counting(100_001);
    await assert.rejects(refuseWideAnnotations(session, modelKind, { namespace: 'n', annotations: [note] }), {
      code: 'STORAGE_QUERY_UNSUPPORTED',
      message: /more than 100000 objects.*by namespace, label, field, owner or time/,
    });
    assert.match(asked[0] ?? '', /LIMIT 100001/);
    assert.doesNotMatch(asked[0] ?? '', /_annotations/);
  });

  it('is answered where they are fewer, and nothing is counted without one', async () => {
    await refuseWideAnnotations(counting(100_000).session, modelKind, { annotations: [note] });
    const { session, asked } = counting(100_001);
    await refuseWideAnnotations(session, modelKind, { annotations: [] });
    assert.deepEqual(asked, []);
  });
});
