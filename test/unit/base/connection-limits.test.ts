import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type ConnectionState, isOverdue, leastDeserving, type Phase } from '../../../src/base/connection-limits.ts';

const NOW = 100_000;
const limits = { most: 4, idleMs: 95_000, headMs: 5000, bodyMs: 10_000, answerMs: 35_000 };

const aConnection = (phase: Phase, ageMs: number, address = '10.0.0.1'): ConnectionState => ({
  phase,
  sinceMs: NOW - ageMs,
  address,
});

describe('leastDeserving', () => {
  it('names a slow connection before an idle one, and an idle one before a connection that has just begun', () => {
    const [slow, idle, fresh] = [aConnection('body', 1500), aConnection('idle', 1), aConnection('head', 10)];
    assert.equal(leastDeserving([fresh, idle, slow], NOW), slow);
    assert.equal(leastDeserving([fresh, idle], NOW), idle);
    assert.equal(leastDeserving([fresh], NOW), fresh);
  });

  it('names the oldest connection of the address that has the most', () => {
    const [oldest, other] = [aConnection('opening', 900, '10.0.0.9'), aConnection('opening', 800, '10.0.0.9')];
    const honest = aConnection('opening', 950, '10.0.0.1');
    assert.equal(leastDeserving([honest, other, oldest], NOW), oldest);
  });

  it('never names a connection whose request is being answered', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom<Phase>('opening', 'idle', 'head', 'body', 'answering'), fc.nat(99_000))),
        (all) => {
          const connections = all.map(([phase, age]) => aConnection(phase, age));
          const least = leastDeserving(connections, NOW);
          assert.notEqual(least?.phase, 'answering');
          assert.equal(
            least === undefined,
            connections.every(({ phase }) => phase === 'answering'),
          );
        },
      ),
    );
  });
});

describe('isOverdue', () => {
  it('gives each phase its own time', () => {
    const phases = [
      ['idle', limits.idleMs],
      ['head', limits.headMs],
      ['body', limits.bodyMs],
      ['answering', limits.answerMs],
    ] as const;
    for (const [phase, most] of phases) {
      assert.deepEqual(
        [isOverdue(aConnection(phase, most), limits, NOW), isOverdue(aConnection(phase, most + 1), limits, NOW)],
        [false, true],
        phase,
      );
    }
  });
});
