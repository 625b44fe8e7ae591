// Processes of `active: one` and of `active: all` beside each other, as during a rolling update that switches the setting.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ReplicaWorld } from '../../../support/replica-world.ts';

const LEASE_MS = 15_000;
/** A candidate tries again after up to 2.2 times two seconds. */
const RETRY_MS = 4400;

async function aloneAtWork(): Promise<ReplicaWorld> {
  const world = new ReplicaWorld();
  world.startAlone();
  await world.advance(500);
  world.startAlone(() => 0);
  await world.advance(5000);
  return world;
}

async function replicasAtWork(): Promise<ReplicaWorld> {
  const world = new ReplicaWorld();
  for (let count = 0; count < 3; count += 1) world.start();
  await world.advance(9000);
  return world;
}

interface Step {
  readonly do: 'start' | 'stop' | 'start alone' | 'stop alone';
  readonly which: number;
  readonly thenMs: number;
}

async function take(world: ReplicaWorld, { do: what, which, thenMs }: Step): Promise<void> {
  const replicas = world.replicas.filter(({ stopped }) => !stopped);
  const alone = world.alone.filter(({ stopped }) => !stopped);
  if (what === 'start' && replicas.length < 4) world.start().stopMs = which * 700;
  if (what === 'start alone' && alone.length < 3) world.startAlone(() => which / 3);
  if (what === 'stop') replicas[which % replicas.length]?.stop();
  if (what === 'stop alone') alone[which % alone.length]?.stop();
  await world.advance(thenMs);
}

const working = ({ alone }: ReplicaWorld): readonly string[] =>
  alone.filter((each) => each.working).map(({ name }) => name);

describe('a rolling update from one to all', () => {
  it('has the replicas begin as soon as the leader stops, though another that works alone stands by', async () => {
    const world = await aloneAtWork();
    for (let count = 0; count < 3; count += 1) world.start();
    await world.advance(8000);
    assert.deepEqual(working(world), ['a0']);
    assert.ok(world.replicas.every(({ problem, serving }) => problem === undefined && serving === undefined));
    world.alone[0]?.stop();
    await world.advance(1000);
    assert.deepEqual(world.unowned, []);
    assert.deepEqual(working(world), []);
    await world.advance(20_000);
    world.alone[1]?.stop();
    await world.advance(20_000);
    assert.deepEqual(world.unowned, []);
    assert.deepEqual(
      world.replicas.map(({ terms }) => terms),
      [1, 1, 1],
    );
    await world.end();
    world.assertSound();
  });

  it('has the replicas begin once the lease of a leader that was killed has expired', async () => {
    const world = await aloneAtWork();
    world.start();
    await world.advance(8000);
    world.alone[1]?.stop();
    world.alone[0]?.kill();
    assert.ok((await world.untilOwned(60_000)) <= LEASE_MS + 2000);
    await world.end();
    world.assertSound();
  });
});

describe('a rolling update from all to one', () => {
  it('has one work alone only once the last replica has stopped, and soon then', async () => {
    const world = await replicasAtWork();
    for (const random of [() => 0, () => 1]) world.startAlone(random);
    for (const replica of world.replicas) {
      await world.advance(7000);
      assert.deepEqual([working(world), world.unowned], [[], []]);
      replica.stop();
    }
    await world.advance(300);
    assert.ok((await world.untilOwned(60_000)) <= RETRY_MS);
    assert.equal(working(world).length, 1);
    await world.end();
    world.assertSound();
  });

  it('has one work alone soon where all replicas stop at once', async () => {
    const world = await replicasAtWork();
    world.startAlone();
    await world.advance(7000);
    world.replicas.forEach((each, index) => {
      each.stopMs = index * 400;
      each.stop();
    });
    await world.advance(1000);
    assert.ok((await world.untilOwned(60_000)) <= RETRY_MS);
    await world.end();
    world.assertSound();
  });

  it('leaves the work to the replicas where the one that leads is killed', async () => {
    const world = await replicasAtWork();
    for (const random of [() => 0, () => 0.3, () => 1]) world.startAlone(random);
    await world.advance(7000);
    world.replicas.find(({ leader }) => leader.leads())?.kill();
    await world.untilOwned(LEASE_MS + 2000);
    await world.advance(20_000);
    assert.deepEqual(working(world), []);
    assert.equal(world.replicas.filter(({ alive, leader }) => alive && leader.leads()).length, 1);
    await world.end();
    world.assertSound();
  });

  it('has one work alone where replicas have lost the right to their leases, also when they start again', async () => {
    const world = await replicasAtWork();
    world.startAlone();
    await world.advance(7000);
    const refused = (lease: string): boolean => lease !== 'ingester-reconciler';
    for (const each of world.replicas) each.refused = refused;
    await world.advance(3000);
    world.start().refused = refused;
    await world.advance(10_000);
    assert.equal(world.unowned.length, 32);
    await world.untilOwned(LEASE_MS + RETRY_MS);
    assert.deepEqual(working(world), ['a0']);
    await world.advance(30_000);
    assert.deepEqual(working(world), ['a0'], 'a replica without a slot does not lead');
    await world.end();
    world.assertSound();
  });
});

describe('processes of both settings', () => {
  it('never work on the same objects, whatever starts and stops in which order', async () => {
    const step = fc.record({
      do: fc.constantFrom<Step['do']>('start', 'start', 'stop', 'start alone', 'start alone', 'stop alone'),
      which: fc.nat(3),
      thenMs: fc.oneof(fc.nat(300), fc.integer({ min: 4000, max: 12_000 })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 20 }), async (steps) => {
        const world = new ReplicaWorld();
        for (const each of steps) await take(world, each);
        world.start();
        // A lease that was left to one that stops at the same moment expires.
        await world.untilOwned(LEASE_MS + 10_000);
        await world.end();
        world.assertSound();
      }),
      { numRuns: Number(process.env['REPLICA_RUNS'] ?? 12) },
    );
  });
});
