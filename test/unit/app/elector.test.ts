import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { candidateOf, leaseName } from '../../../src/app/elector.ts';
import { loadConfiguration } from '../../../src/config/load.ts';

describe('the lease of a reconciler', () => {
  it('is the same for every reconciler that syncs, whether or not it audits', () => {
    for (const controllers of [['sync'], ['sync', 'audit']])
      assert.equal(leaseName(new Set(controllers)), 'ingester-reconciler');
  });

  it('is another lease for a reconciler that only audits, so that the two do not wait for each other', () => {
    assert.equal(leaseName(new Set(['audit'])), 'ingester-reconciler-audit');
  });
});

describe('a candidate for the lease', () => {
  const settings = (active: string) =>
    loadConfiguration({
      file: undefined,
      env: { INGESTER_LEADER_ELECTION_ENABLED: 'true', INGESTER_LEADER_ELECTION_ACTIVE: active },
    });

  it('says in its identity whether it works alone', () => {
    const alone = candidateOf(settings('one'), new Set(['sync', 'audit']));
    assert.deepEqual([alone.lease, alone.replica], ['ingester-reconciler', undefined]);
    assert.doesNotMatch(alone.identity, /\//);
    const many = candidateOf(settings('all'), new Set(['sync', 'audit']));
    assert.equal(many.identity, `replica/${many.replica}`);
  });

  it('shares no work where it only audits', () => {
    assert.equal(candidateOf(settings('all'), new Set(['audit'])).replica, undefined);
  });
});
