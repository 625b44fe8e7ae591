import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { judgeAttempt, type KnownAttempts, partsOf } from '../../../src/storage/mysql/tasks/task-fence.ts';

/** As the fence records attempts: which one may write, and what was ever seen. */
class Recorded {
  current = '';
  readonly seen = new Set<string>();

  claim(attempt: string): boolean {
    const parts = partsOf(attempt);
    const numbers = [...this.seen].map(partsOf).filter(({ prefix }) => prefix === parts.prefix);
    const known: KnownAttempts = {
      seen: attempt === this.current ? 'current' : this.seen.has(attempt) ? 'former' : 'never',
      highest: numbers.reduce<number | undefined>(
        (highest, { number }) => (number === undefined ? highest : Math.max(highest ?? 0, number)),
        undefined,
      ),
    };
    if (judgeAttempt(parts, known) === 'stale') return false;
    this.current = attempt;
    this.seen.add(attempt);
    return true;
  }
}

describe('attempts', () => {
  it('are ordered by the number at their end, among those that begin alike', () => {
    assert.deepEqual(partsOf('prod/migrate-12'), { prefix: 'prod/migrate-', number: 12 });
    assert.deepEqual(partsOf('prod'), { prefix: 'prod', number: undefined });
    assert.deepEqual(partsOf('7'), { prefix: '', number: 7 });
    assert.equal(partsOf(`a-${'9'.repeat(16)}`).number, undefined);
  });

  it('begin when they are new, go on when they are the current one, and are stale otherwise', () => {
    const five = partsOf('a-5');
    assert.equal(judgeAttempt(five, { seen: 'never', highest: undefined }), 'newer');
    assert.equal(judgeAttempt(five, { seen: 'never', highest: 4 }), 'newer');
    assert.equal(judgeAttempt(five, { seen: 'current', highest: 5 }), 'again');
    assert.equal(judgeAttempt(five, { seen: 'former', highest: 5 }), 'stale');
    assert.equal(judgeAttempt(five, { seen: 'never', highest: 6 }), 'stale', 'its Job was delayed');
  });

  it('never come back once another took their place, and never go back in number', () => {
    const ids = fc.constantFrom('a-1', 'a-2', 'a-3', 'a-10', 'b-1', 'b-2', 'blue', 'green', '4');
    fc.assert(
      fc.property(fc.array(ids, { maxLength: 30 }), (arrivals) => {
        const recorded = new Recorded();
        const accepted = arrivals.filter((attempt) => recorded.claim(attempt));
        const turns = accepted.filter((attempt, index) => attempt !== accepted[index - 1]);
        assert.equal(new Set(turns).size, turns.length, 'each has one turn');
        for (const prefix of ['a-', 'b-']) {
          const numbers = turns.filter((id) => id.startsWith(prefix)).map((id) => partsOf(id).number ?? 0);
          assert.deepEqual(
            numbers,
            [...numbers].sort((one, other) => one - other),
          );
        }
      }),
    );
  });
});
