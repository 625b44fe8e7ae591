import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LeaseRecord } from '../../../../src/runtime/lease.ts';
import { ReplicaWorld } from '../../../support/replica-world.ts';

const LEASE_MS = 15_000;

async function threeAtWork(): Promise<ReplicaWorld> {
  const world = new ReplicaWorld();
  for (let count = 0; count < 3; count += 1) world.start();
  await world.advance(8000);
  assert.deepEqual(world.unowned, []);
  return world;
}

const shares = ({ replicas }: ReplicaWorld): readonly number[] =>
  replicas.map(({ serving }) => serving?.buckets.size ?? 0);

describe('replicas that work at the same time', () => {
  it('share the buckets evenly', async () => {
    const world = await threeAtWork();
    assert.deepEqual([...shares(world)].sort(), [10, 11, 11]);
    assert.deepEqual(
      world.replicas.map(({ terms }) => terms),
      [1, 1, 1],
    );
    await world.end();
    world.assertSound();
  });

  it('are ready once each bucket has an owner, and say how many have none', async () => {
    const world = new ReplicaWorld();
    const one = world.start();
    assert.match(one.problem ?? '', /leases .* cannot be read/);
    await world.advance(1000);
    assert.equal(one.problem, '32 of 32 buckets have no owner');
    await world.advance(4000);
    assert.ok(!one.problem);
    await world.end();
    world.assertSound();
  });

  it('go on as one, where one alone is there', async () => {
    const world = new ReplicaWorld();
    world.start();
    assert.ok((await world.untilOwned(5000)) < 5000);
    await world.advance(60_000);
    assert.equal(world.replicas[0]?.terms, 1);
    await world.end();
    world.assertSound();
  });

  it('take over from one that is killed within a lease and two seconds', async () => {
    const world = await threeAtWork();
    world.replicas[1]?.kill();
    assert.ok((await world.untilOwned(60_000)) <= LEASE_MS + 2000);
    await world.end();
    world.assertSound();
  });

  it('take over from one that stops within two seconds', async () => {
    const world = await threeAtWork();
    world.replicas[1]?.stop();
    await world.advance(300);
    assert.ok((await world.untilOwned(60_000)) <= 1700);
    await world.end();
    world.assertSound();
  });

  it('give a bucket only once nothing of the term works any more', async () => {
    const world = await threeAtWork();
    for (const each of world.replicas) each.stopMs = 4000;
    world.replicas[1]?.stop();
    await world.advance(3000);
    assert.ok(world.unowned.length > 0);
    await world.untilOwned(10_000);
    await world.end();
    world.assertSound();
  });

  it('give nothing up where a term does not end as it should, so that others wait for the lease', async () => {
    const world = await threeAtWork();
    const [, broken] = world.replicas;
    if (broken !== undefined) broken.breaks = true;
    broken?.stop();
    await world.advance(10_000);
    assert.match(String(broken?.failure), /does not end/);
    assert.notDeepEqual(world.unowned, []);
    await world.untilOwned(LEASE_MS);
    await world.end();
    world.assertSound();
  });

  it('let one that was frozen for longer than its lease do nothing more', async () => {
    const world = await threeAtWork();
    const [, frozen] = world.replicas;
    frozen?.clock.freeze();
    await world.advance(LEASE_MS + 5000);
    assert.deepEqual(world.unowned, []);
    frozen?.clock.goOn();
    await world.advance(500);
    assert.match(String(frozen?.failure), /leader election lost/);
    await world.end();
    world.assertSound();
  });

  it('let one that is cut off from the API server give up before others take over', async () => {
    const world = await threeAtWork();
    const [cut] = world.replicas;
    if (cut !== undefined) cut.line = 'cut';
    await world.advance(LEASE_MS + 5000);
    assert.deepEqual(world.unowned, []);
    assert.equal(cut?.state, 'ended');
    await world.end();
    world.assertSound();
  });

  it('divide again when one comes, once, after it has stayed', async () => {
    const world = await threeAtWork();
    world.start();
    await world.advance(1000);
    world.start();
    await world.advance(9000);
    assert.deepEqual([...shares(world)].sort(), [6, 6, 6, 7, 7]);
    assert.deepEqual(
      world.replicas.map(({ terms }) => terms <= 2),
      [true, true, true, true, true],
    );
    await world.end();
    world.assertSound();
  });

  it('hold no bucket while a process that works alone leads', async () => {
    const world = await threeAtWork();
    const spec: LeaseRecord = {
      holderIdentity: 'host_alone',
      leaseDurationSeconds: 15,
      acquireTime: '',
      renewTime: '',
      leaseTransitions: 0,
    };
    world.server.put({
      metadata: { namespace: 'system', name: 'ingester-reconciler', uid: 'u', resourceVersion: '' },
      spec,
    } as never);
    await world.advance(2000);
    assert.equal(world.unowned.length, 32);
    assert.equal(world.replicas[0]?.problem, undefined, 'all buckets are worked on by that process');
    // It is gone, and its lease expires.
    await world.advance(LEASE_MS);
    assert.deepEqual(world.unowned, []);
    await world.end();
    world.assertSound();
  });

  it('stop working on a bucket whose Lease a user has changed, and take it again', async () => {
    const world = await threeAtWork();
    const lease = world.server.object('system/ingester-bucket-7');
    assert.ok(lease !== undefined);
    world.server.put({ ...lease, spec: { ...(lease['spec'] as object), holderIdentity: '' } });
    await world.advance(200);
    assert.ok(world.unowned.includes(7));
    await world.untilOwned(3000);
    await world.end();
    world.assertSound();
  });

  it('go on with what they own where the Lease of a bucket cannot be written, and say since when it has no owner', async () => {
    const world = await threeAtWork();
    const lease = world.server.object('system/ingester-bucket-7');
    assert.ok(lease !== undefined);
    for (const each of world.replicas) each.refused = (name) => name === 'ingester-bucket-7';
    const since = world.clock.now();
    world.server.put({ ...lease, spec: { ...(lease['spec'] as object), holderIdentity: '' } });
    await world.advance(5000);
    const terms = world.replicas.map((each) => each.terms);
    await world.advance(60_000);
    assert.deepEqual(world.unowned, [7]);
    assert.deepEqual(
      world.replicas.map((each) => each.terms),
      terms,
    );
    for (const { replica, problem } of world.replicas) {
      assert.equal(problem, '1 of 32 buckets have no owner');
      assert.equal(replica.unowned?.buckets, 1);
      assert.ok(Math.abs(replica.unowned.since.getTime() - since.getTime()) < 1000);
    }
    for (const each of world.replicas) each.refused = () => false;
    await world.untilOwned(3000);
    await world.advance(300);
    assert.ok(world.replicas.every(({ replica }) => replica.unowned === undefined));
    await world.end();
    world.assertSound();
  });

  it('keep their buckets where the Lease of a slot is deleted', async () => {
    const world = await threeAtWork();
    world.server.remove('system/ingester-replica-1');
    await world.advance(10_000);
    assert.deepEqual(world.unowned, []);
    await world.end();
    world.assertSound();
  });

  it('wait for the time of a lease where the Lease of a slot is deleted whose replica cannot renew it', async () => {
    const world = await threeAtWork();
    const [, cut] = world.replicas;
    if (cut !== undefined) cut.line = 'cut';
    world.server.remove('system/ingester-replica-1');
    await world.advance(100);
    // Looks for a slot, and must not take that one: another may live on it.
    world.start();
    await world.advance(7000);
    assert.deepEqual(world.unowned, []);
    await world.advance(3500);
    assert.notDeepEqual(world.unowned, []);
    await world.untilOwned(LEASE_MS);
    await world.end();
    world.assertSound();
  });

  it('leave the part of one that cannot use MySQL to those that can, until it can again', async () => {
    const world = await threeAtWork();
    const [one] = world.replicas;
    assert.ok(one !== undefined);
    one.canStore = false;
    await world.advance(25_000);
    assert.deepEqual([...shares(world)].sort(), [10, 11, 11]);
    await world.advance(15_000);
    assert.deepEqual([one.serving, world.unowned], [undefined, []]);
    // It has a slot, and so no other takes its place as a replica; one that comes does not wait for it.
    world.start();
    await world.advance(10_000);
    assert.deepEqual([one.serving, world.unowned], [undefined, []]);
    one.canStore = true;
    await world.advance(10_000);
    assert.deepEqual([...shares(world)].sort(), [8, 8, 8, 8]);
    await world.end();
    world.assertSound();
  });

  it('keep their buckets where none can use MySQL, also while it comes back for one after the other', async () => {
    const world = await threeAtWork();
    for (const canStore of [false, true]) {
      for (const each of world.replicas) {
        each.canStore = canStore;
        await world.advance(8000);
      }
      await world.advance(60_000);
    }
    assert.deepEqual(
      world.replicas.map(({ terms }) => terms),
      [1, 1, 1],
    );
    await world.end();
    world.assertSound();
  });
});
