import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parsedBytes } from '../../../webhooks/bodies.ts';
import { BodyRoom, type Visitor } from '../../../webhooks/body-room.ts';
import { FakeClock } from '../../support/fake-clock.ts';

class Body implements Visitor {
  readonly bytes: number;
  came = 0;
  state: 'waiting' | 'inside' | 'refused' = 'waiting';

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  received(): number {
    return this.came;
  }

  admit(): void {
    this.state = 'inside';
  }

  refuse(): void {
    this.state = 'refused';
  }
}

describe('BodyRoom', () => {
  it('gives the room of the slowest body to a body that waits', async () => {
    const clock = new FakeClock();
    const room = new BodyRoom(10, clock);
    const [slow, slower, honest] = [new Body(5), new Body(5), new Body(4)];
    room.enter(slow);
    room.enter(slower);
    await clock.advance(600);
    slow.came = 2;
    room.enter(honest);
    await clock.advance(100);
    assert.deepEqual([slow.state, slower.state, honest.state], ['inside', 'refused', 'inside']);
  });

  it('never takes the room of a body that has come whole', async () => {
    const clock = new FakeClock();
    const room = new BodyRoom(10, clock);
    const [whole, late] = [new Body(10), new Body(1)];
    room.enter(whole);
    whole.came = 10;
    room.enter(late);
    await clock.advance(5000);
    assert.deepEqual([whole.state, late.state], ['inside', 'refused']);
  });

  it('lets small bodies in before large ones that came earlier', () => {
    const room = new BodyRoom(10, new FakeClock());
    const [first, large, small] = [new Body(10), new Body(9), new Body(1)];
    for (const body of [first, large, small]) room.enter(body);
    first.came = 10;
    room.leave(first);
    assert.deepEqual([large.state, small.state], ['inside', 'inside']);
    const crowded = new BodyRoom(10, new FakeClock());
    const [all, big, tiny] = [new Body(10), new Body(10), new Body(1)];
    for (const body of [all, big, tiny]) crowded.enter(body);
    crowded.leave(all);
    assert.deepEqual([big.state, tiny.state], ['waiting', 'inside']);
  });

  it('never holds more than its limit, and leaves none waiting for ever, whatever comes and goes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 10 }), fc.boolean(), fc.nat(700))),
        async (visits) => {
          const clock = new FakeClock();
          const room = new BodyRoom(10, clock);
          const bodies: Body[] = [];
          for (const [bytes, finishes, pause] of visits) {
            const body = new Body(bytes);
            bodies.push(body);
            room.enter(body);
            if (finishes && body.state === 'inside') {
              body.came = bytes;
              room.leave(body);
            }
            assert.ok(room.used <= 10);
            await clock.advance(pause);
          }
          await clock.advance(2000);
          assert.deepEqual(
            bodies.filter(({ state }) => state === 'waiting'),
            [],
          );
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('parsedBytes', () => {
  const MIB = 1024 * 1024;

  it('takes a body of nothing but values for many times its size, and an ordinary object for a few', () => {
    const dense = Buffer.from(`[${'{},'.repeat(MIB / 3)}0]`);
    assert.ok(parsedBytes(dense) > 20 * dense.length);
    const object = {
      env: Array.from({ length: 5000 }, (_, index) => ({ name: `NAME_${index}`, value: `value ${index}` })),
    };
    const ordinary = Buffer.from(JSON.stringify(object));
    assert.ok(ordinary.length > 64 * 1024);
    assert.ok(parsedBytes(ordinary) < 10 * ordinary.length);
  });
});
