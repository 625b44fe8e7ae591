// What an API server, its etcd and the way to it can do to a watch.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { etcdGateway } from '../etcd-gateway.ts';
import { eventually } from '../eventually.ts';
import type { Proxied } from '../faulty-proxy.ts';
import { scenario } from './watched.ts';
import type { World } from './world.ts';

/** Longer than the deadline of the tests, and shorter than any wait. */
const SILENCE_MS = 2000;
/** How long the API server stays frozen after the watch was given up; RUNTIME_FAULTS_FREEZE_MS=60000 for a minute. */
const FREEZE_MS = Number(process.env['RUNTIME_FAULTS_FREEZE_MS'] ?? 3000);
/** Longer than the waits of the first failures. */
const RETRY_AFTER_S = 3;

export function apiServerFaults(world: () => World): void {
  // Who is too busy is at work; who is not there may be restored from a backup meanwhile.
  for (const [status, lists] of [
    [429, 0],
    [503, 1],
  ] as const) {
    scenario(
      `an API server that refuses with ${status} for a while, and lists again ${lists === 0 ? 'never' : 'once'}`,
      world,
      {},
      async (watched, { proxy, write }) => {
        const before = proxy.requests.length;
        proxy.refuse({ status, headers: { 'retry-after': String(RETRY_AFTER_S) } });
        await write();
        const refused = await eventually(() => {
          const found = proxy.requests.slice(before).filter((request) => request.refused);
          assert.ok(found.length >= 2);
          return found;
        });
        proxy.refuse(undefined);
        await watched.settles();
        assertApart(refused, RETRY_AFTER_S * 1000);
        const listed = proxy.requests.slice(before).filter(({ kind, refused: no }) => kind === 'list' && !no);
        assert.equal(listed.length, lists);
      },
    );
  }

  scenario(
    'an API server that refuses to watch, and to list, with 410',
    world,
    {},
    async (watched, { proxy, write }) => {
      const before = proxy.requests.length;
      // The watch expires, and the list that must follow does, too.
      proxy.refuse({ status: 410 });
      await watched.logs('The watch expired; listing again');
      await write();
      await eventually(() => {
        const lists = proxy.requests.slice(before).filter(({ kind }) => kind === 'list');
        assert.ok(lists.length >= 2);
      });
      proxy.refuse(undefined);
    },
  );

  scenario('a version that etcd has compacted away', world, {}, async (watched, { controlPlane, proxy, write }) => {
    // As from a server that is busy all the time, so that the watch is resumed.
    proxy.refuse({ status: 429 });
    await write();
    // The API server keeps recent events itself, and forgets them when it ends.
    await controlPlane.apiServer.stop();
    await etcdGateway(controlPlane).compact();
    await controlPlane.apiServer.start();
    await write();
    proxy.refuse(undefined);
    await watched.logs('The watch expired; listing again');
  });

  scenario(
    'an API server that is killed while it lists',
    world,
    {},
    async (watched, { controlPlane, proxy, write }) => {
      const killed = Promise.withResolvers<undefined>();
      proxy.refuse({ status: 410 });
      await watched.logs('The watch expired; listing again');
      proxy.refuse(undefined);
      proxy.breakNext(() => {
        controlPlane.apiServer.kill('SIGKILL');
        killed.resolve(undefined);
      });
      await killed.promise;
      await controlPlane.apiServer.exited();
      await controlPlane.apiServer.start();
      await write();
    },
  );

  scenario('a connection that is cut in the middle of a line', world, {}, async (watched, { proxy, write }) => {
    const before = proxy.requests.length;
    const broken = Promise.withResolvers<undefined>();
    proxy.breakNext(() => broken.resolve(undefined));
    await Promise.all([write(), broken.promise]);
    await watched.settles();
    assert.ok(!kindsSince(proxy.requests, before).has('list'));
  });

  scenario(
    'an API server that is frozen beyond the deadline for silence',
    world,
    { silenceMs: SILENCE_MS },
    async (watched, { controlPlane, write }) => {
      // A watch that brought nothing would not be resumed.
      await write();
      await watched.settles();
      controlPlane.apiServer.kill('SIGSTOP');
      try {
        // No packet says that the connection is dead, so only the deadline can find out.
        await watched.logs('The watch broke; resuming it');
        await delay(FREEZE_MS);
      } finally {
        controlPlane.apiServer.kill('SIGCONT');
      }
      await write();
    },
  );

  scenario(
    'a connection that is dead without saying so, beside others that live',
    world,
    () => ({ silenceMs: SILENCE_MS, kubeconfig: world().linked }),
    async (_watched, { link, write }) => {
      link.strand();
      await write();
    },
  );
}

/** Refusals say how long to wait; no request may come sooner. */
function assertApart(requests: readonly Proxied[], milliseconds: number): void {
  for (const [index, { atMs }] of requests.entries()) {
    const next = requests[index + 1];
    if (next !== undefined) assert.ok(next.atMs - atMs >= milliseconds, `${next.atMs - atMs} ms apart`);
  }
}

function kindsSince(requests: readonly Proxied[], index: number): ReadonlySet<string> {
  return new Set(requests.slice(index).map(({ kind }) => kind));
}
