// Replicas that are killed, frozen, cut off, late and deaf, that come and go, in every order that random finds: no bucket has
// two owners, and once that is over each has one again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { allBuckets, bucketOf, fnv1a64, shardSelectorOf, targetOf } from '../../src/runtime/replicas/buckets.ts';
import { type Line, ReplicaWorld, type SimulatedReplica } from '../support/replica-world.ts';

type Step =
  | { readonly do: 'start' | 'stop' | 'kill' | 'freeze' | 'go on'; readonly which: number }
  | { readonly do: 'line'; readonly which: number; readonly line: Line }
  | { readonly do: 'advance'; readonly ms: number };

const which = fc.nat(4);
const line = fc.constantFrom<Line>('good', 'late', 'deaf', 'cut');
const ms = fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 3000, max: 22_000 }));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start' as const), which }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('stop', 'kill', 'freeze', 'go on'), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('line' as const), which, line }) },
  { weight: 9, arbitrary: fc.record({ do: fc.constant('advance' as const), ms }) },
);

const MOST = 5;

async function take(world: ReplicaWorld, step: Step): Promise<void> {
  if (step.do === 'advance') {
    await world.advance(step.ms);
    return;
  }
  const living = world.replicas.filter(({ alive }) => alive);
  if (step.do === 'start') {
    if (living.length < MOST) world.start().stopMs = (step.which % 3) * 1500;
    return;
  }
  const replica = living[step.which % Math.max(1, living.length)];
  if (replica !== undefined) act(replica, step);
}

function act(replica: SimulatedReplica, step: Exclude<Step, { readonly do: 'advance' }>): void {
  if (step.do === 'stop') replica.stop();
  else if (step.do === 'kill') replica.kill();
  else if (step.do === 'freeze') replica.clock.freeze();
  else if (step.do === 'go on') replica.clock.goOn();
  else if (step.do === 'line') replica.line = step.line;
}

describe('replicas in every order of faults', () => {
  it('never have two owners of a bucket, and an owner of each again once the faults are over', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const world = new ReplicaWorld();
        for (let count = 0; count < 3; count += 1) world.start();
        await world.advance(5000);
        for (const each of steps) await take(world, each);
        for (const each of world.replicas.filter(({ alive }) => alive)) {
          each.line = 'good';
          each.clock.goOn();
        }
        world.start();
        // A lease, the wait of the watch for its next try, which began before, and what runs when a term ends.
        await world.untilOwned(60_000);
        await world.end();
        world.assertSound();
      }),
      { numRuns: Number(process.env['REPLICA_RUNS'] ?? 12) },
    );
  });

  it('have an owner of each bucket within a lease and two seconds after any of them are killed at any time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 8000 }), fc.integer({ min: 1, max: 3 }), async (afterMs, killed) => {
        const world = new ReplicaWorld();
        for (let count = 0; count < 4; count += 1) world.start();
        await world.advance(8000 + afterMs, 250);
        for (const each of world.replicas.slice(0, killed)) each.kill();
        await world.untilOwned(17_000);
        await world.end();
        world.assertSound();
      }),
      { numRuns: 10 },
    );
  });
});

describe('buckets', () => {
  it('hash as the specification of FNV-1a says', () => {
    const hex = (text: string): string =>
      fnv1a64(text)
        .map((word) => word.toString(16).padStart(8, '0'))
        .join('');
    assert.equal(hex(''), 'cbf29ce484222325');
    assert.equal(hex('a'), 'af63dc4c8601ec8c');
    assert.equal(hex('b'), 'af63df4c8601f1a5');
    assert.equal(hex('foobar'), '85944171f73967e8');
    assert.equal(hex('hello'), 'a430d84680aabd0b');
  });

  it('hash any text as the same sums of whole numbers do', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        let hash = 0xcbf29ce484222325n;
        for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
        const [high, low] = fnv1a64(text);
        assert.equal((BigInt(high) << 32n) | BigInt(low), hash);
        assert.equal(BigInt(bucketOf(text)), hash >> 59n);
      }),
    );
  });

  it('are the ranges that a shardSelector names', () => {
    const buckets = fc.uniqueArray(fc.nat(31), { minLength: 1 });
    fc.assert(
      fc.property(buckets, fc.uuid(), (share, uid) => {
        const [high, low] = fnv1a64(uid);
        const hash = (BigInt(high) << 32n) | BigInt(low);
        const ranges = [...shardSelectorOf(share).matchAll(/'(0x[0-9a-f]{16,17})', '(0x[0-9a-f]{16,17})'/g)];
        const selected = ranges.some(([, start = '', end = '']) => hash >= BigInt(start) && hash < BigInt(end));
        assert.equal(selected, share.includes(bucketOf(uid)));
      }),
    );
    assert.equal(
      shardSelectorOf([31, 0, 1]),
      "shardRange(object.metadata.uid, '0x0000000000000000', '0x1000000000000000') || " +
        "shardRange(object.metadata.uid, '0xf800000000000000', '0x10000000000000000')",
    );
  });

  it('share uids evenly', () => {
    const counts = allBuckets.map(() => 0);
    for (let count = 0; count < 32_000; count += 1) {
      const bucket = bucketOf(crypto.randomUUID());
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    assert.ok(Math.max(...counts) < 1200 && Math.min(...counts) > 800, counts.join(' '));
  });

  it('move only to a slot that comes, and only from a slot that goes', () => {
    const slots = fc.uniqueArray(fc.nat(15), { minLength: 1, maxLength: 15 });
    fc.assert(
      fc.property(slots, fc.nat(15), (before, other) => {
        const after = before.includes(other) ? before.filter((slot) => slot !== other) : [...before, other];
        for (const bucket of allBuckets) {
          const [from, to] = [targetOf(bucket, before), targetOf(bucket, after)];
          if (from !== to) assert.ok(from === other || to === other);
        }
      }),
    );
  });

  it('are shared evenly by up to five replicas in the first slots', () => {
    for (let count = 2; count <= 5; count += 1) {
      const slots = Array.from({ length: count }, (_, slot) => slot);
      const shares = slots.map((slot) => allBuckets.filter((bucket) => targetOf(bucket, slots) === slot).length);
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 2, shares.join(' '));
    }
  });
});
